// Command mpi-operator runs the controller of MPIJobs on one control plane of the tests.
//
// The operator's own main takes port 8080 of all addresses, so no two of it can run on one machine. This one
// has the same controller, without the election of a leader.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"os/signal"
	"syscall"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	clientset "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned"
	kubeflowscheme "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned/scheme"
	kubeflowinformers "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the control plane")
	health := flag.String("health-address", "", "where /healthz answers")
	flag.Parse()
	if err := run(*kubeconfig, *health); err != nil {
		log.Fatal(err)
	}
}

func run(kubeconfig, health string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cluster, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	cluster.QPS, cluster.Burst = 200, 400
	if err := kubeflowscheme.AddToScheme(clientgoscheme.Scheme); err != nil { // for its events
		return err
	}
	core, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return err
	}
	jobs, err := clientset.NewForConfig(cluster)
	if err != nil {
		return err
	}
	ofCore := informers.NewSharedInformerFactory(core, 0)
	ofJobs := kubeflowinformers.NewSharedInformerFactory(jobs, 0)
	made, err := controller.NewMPIJobController(
		ctx, core, jobs, nil, nil,
		ofCore.Core().V1().ConfigMaps(),
		ofCore.Core().V1().Secrets(),
		ofCore.Core().V1().Services(),
		ofCore.Batch().V1().Jobs(),
		ofCore.Core().V1().Pods(),
		ofCore.Scheduling().V1().PriorityClasses(),
		ofJobs.Kubeflow().V2beta1().MPIJobs(),
		&options.ServerOption{ControllerRateLimit: 100, ControllerBurst: 200, ClusterDomain: "cluster.local"},
	)
	if err != nil {
		return err
	}
	ofCore.Start(ctx.Done())
	ofJobs.Start(ctx.Done())
	ofCore.WaitForCacheSync(ctx.Done())
	ofJobs.WaitForCacheSync(ctx.Done())
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	go func() { log.Fatal(http.ListenAndServe(health, nil)) }()
	return made.Run(2, ctx.Done())
}
