module gangboard.dev/controlplane/grove

go 1.24.0

require github.com/ai-dynamo/grove/operator/api v0.1.0-alpha.12-rc1
