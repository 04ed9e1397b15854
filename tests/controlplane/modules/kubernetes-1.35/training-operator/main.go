// Command training-operator runs the controllers of the training operator on one control plane of the tests.
//
// The operator's own main keeps its certificates in a folder of /tmp that cannot be chosen, so no two of it can
// run on one machine. This one has the same controllers, and neither webhooks nor certificates.
package main

import (
	"flag"
	"log"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllers "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

func main() {
	health := flag.String("health-probe-bind-address", "", "where /readyz answers")
	flag.Parse() // --kubeconfig is controller-runtime's own
	ctrl.SetLogger(zap.New())
	if err := run(*health); err != nil {
		log.Fatal(err)
	}
}

func run(health string) error {
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	scheme := runtime.NewScheme()
	// It watches the PodGroups of the other two where these are served.
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, kubeflowv1.AddToScheme, coscheduling.AddToScheme, volcano.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	cluster.QPS, cluster.Burst = 200, 400
	manager, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metrics.Options{BindAddress: "0"},
		HealthProbeBindAddress: health,
	})
	if err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return err
	}
	for kind, setUp := range controllers.SupportedSchemeReconciler {
		if kind == kubeflowv1.MPIJobKind { // the MPI operator's, in another version
			continue
		}
		if err := setUp(manager, common.GenNonGangSchedulerSetupFunc(), 1); err != nil {
			return err
		}
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
