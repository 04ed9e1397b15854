{{- define "gangboard.name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end }}

{{- define "gangboard.labels" -}}
app.kubernetes.io/name: gangboard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gangboard.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end }}
{{- end }}

{{- define "gangboard.host" -}}{{ (urlParse .Values.url).host | regexFind "^(\\[[^]]*\\]|[^:]*)" }}{{- end }}

{{- define "gangboard.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "gangboard.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* Settings whose value is a file of a Secret: NAME → {secret, key}. */ -}}
{{- define "gangboard.secretSettings" -}}
{{- $own := printf "%s-trial" (include "gangboard.name" .) -}}
{{- $keys := .Values.keys.existingSecret | default $own -}}
{{- $found := dict
  "GANGBOARD_SECRET_KEY" (dict "secret" $keys "key" "secret_key")
  "GANGBOARD_ENCRYPTION_KEY" (dict "secret" $keys "key" "encryption_key")
  "DATABASE_URL" (ternary (dict "secret" .Values.database.existingSecret "key" .Values.database.key) (dict "secret" $own "key" "database_url") (ne .Values.database.existingSecret ""))
  "REDIS_URL" (ternary (dict "secret" .Values.redis.existingSecret "key" .Values.redis.key) (dict "secret" $own "key" "redis_url") (ne .Values.redis.existingSecret "")) -}}
{{- if .Values.metrics.existingSecret -}}
{{- $_ := set $found "GANGBOARD_METRICS_TOKEN" (dict "secret" .Values.metrics.existingSecret "key" .Values.metrics.key) -}}
{{- end -}}
{{- merge (deepCopy .Values.secretSettings) $found | toYaml -}}
{{- end }}

{{- define "gangboard.env" -}}
{{- $https := hasPrefix "https://" .Values.url -}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- name: GANGBOARD_STATE
  value: /state
- name: GANGBOARD_LOG_JSON
  value: "on"
- name: GANGBOARD_URL
  value: {{ .Values.url | quote }}
- name: GANGBOARD_HOSTS
  # Prometheus sends the address of the pod as Host, probes send localhost.
  value: {{ concat (list (include "gangboard.host" .)) .Values.hosts (list (printf "%s-web" (include "gangboard.name" .)) "localhost" (ternary "[$(POD_IP)]" "$(POD_IP)" (eq .Values.ipFamily "IPv6"))) | uniq | join "," | quote }}
{{- if $https }}
- name: GANGBOARD_HTTPS
  value: "on"
- name: GANGBOARD_ORIGINS
  value: {{ printf "https://%s" (urlParse .Values.url).host | quote }}
{{- end }}
{{- with .Values.trustedProxies }}
- name: GANGBOARD_TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
{{- range $name, $_ := include "gangboard.secretSettings" . | fromYaml }}
- name: {{ $name }}_FILE
  value: /run/secrets/gangboard/{{ $name }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "gangboard.mounts" -}}
- {name: state, mountPath: /state}
- {name: tmp, mountPath: /tmp}
- {name: secrets, mountPath: /run/secrets/gangboard, readOnly: true}
{{- end }}

{{- define "gangboard.volumes" -}}
- name: state
  emptyDir: {sizeLimit: 64Mi}
- name: tmp
  emptyDir: {sizeLimit: 16Mi}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
    {{- range $name, $from := include "gangboard.secretSettings" . | fromYaml }}
    - secret:
        name: {{ $from.secret }}
        items: [{key: {{ $from.key | quote }}, path: {{ $name }}}]
    {{- end }}
{{- end }}

{{- /* A container of gangboard. Takes root, name, and command (a list; empty means the image's command). */ -}}
{{- define "gangboard.container" -}}
name: {{ .name }}
image: {{ include "gangboard.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- with .command }}
command: {{ toJson . }}
{{- end }}
env:
{{ include "gangboard.env" .root }}
securityContext:
  {{- include "gangboard.containerSecurity" . | nindent 2 }}
volumeMounts:
{{ include "gangboard.mounts" .root }}
{{- end }}

{{- /* The shared part of all pods. Takes root, and account (empty means no access to the API server). */ -}}
{{- define "gangboard.pod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .account }}
serviceAccountName: {{ .account }}
automountServiceAccountToken: true
{{- else }}
automountServiceAccountToken: false
{{- end }}
enableServiceLinks: false
securityContext:
  {{- include "gangboard.podSecurity" 10001 | nindent 2 }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
{{ include "gangboard.volumes" .root }}
{{- end }}

{{- /* Spreads the pods of one part over nodes, if there are enough. Takes root and part. */ -}}
{{- define "gangboard.spread" -}}
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "gangboard.labels" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- /* The database of a trial starts together with the other pods, so they wait for its migrations. */ -}}
{{- define "gangboard.waitForMigrations" -}}
{{- if .Values.trial.enabled }}
initContainers:
- {{- include "gangboard.container" (dict "root" . "name" "wait-for-migrations" "command" (list "sh" "-c" "until python manage.py migrate --check >/dev/null 2>&1; do sleep 2; done")) | nindent 2 }}
{{- end }}
{{- end }}

{{- /* "yes" if the API servers have known Holds for over a minute, or if actor.holdBinding says so. */ -}}
{{- define "gangboard.bindsHold" -}}
{{- if eq .Values.actor.holdBinding "always" }}yes
{{- else }}
{{- $crd := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "holds.gangboard.dev" }}
{{- range ($crd.status | default dict).conditions }}
{{- if and (eq .type "Established") (eq .status "True") (lt (add 60 (.lastTransitionTime | toDate "2006-01-02T15:04:05Z" | unixEpoch | int64)) (now | unixEpoch | int64)) }}yes{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "gangboard.podAnnotations" -}}
{{- with .Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
