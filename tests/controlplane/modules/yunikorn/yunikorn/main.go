// Command yunikorn runs the scheduler of YuniKorn on one control plane of the tests.
//
// YuniKorn's own main serves its web pages on port 9080 of all addresses, so no two of it can run on one machine.
// This one starts the same scheduler without them.
package main

import (
	"flag"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"

	"github.com/apache/yunikorn-core/pkg/entrypoint"
	corelog "github.com/apache/yunikorn-core/pkg/log"
	"github.com/apache/yunikorn-k8shim/pkg/client"
	"github.com/apache/yunikorn-k8shim/pkg/conf"
	"github.com/apache/yunikorn-k8shim/pkg/log"
	"github.com/apache/yunikorn-k8shim/pkg/plugin/predicates"
	"github.com/apache/yunikorn-k8shim/pkg/shim"
)

func main() {
	health := flag.String("health-address", "", "where /healthz answers")
	flag.Parse()
	if err := run(*health); err != nil {
		log.Log(log.Shim).Fatal("Unable to run", zap.Error(err))
	}
}

func run(health string) error {
	predicates.EnableOptionalKubernetesFeatureGates()
	configMaps, err := client.LoadBootstrapConfigMaps()
	if err != nil {
		return err
	}
	if err := conf.UpdateConfigMaps(configMaps, true); err != nil {
		return err
	}
	corelog.InitializeLogger(log.RootLogger(), log.GetZapConfigs())
	services := entrypoint.StartAllServicesWithParams(false, false)
	scheduler := shim.NewShimScheduler(services.RMProxy, conf.GetSchedulerConf(), configMaps)
	if err := scheduler.Run(); err != nil {
		return err
	}
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	go func() { log.Log(log.Shim).Fatal("Unable to serve", zap.Error(http.ListenAndServe(health, nil))) }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
	scheduler.Stop()
	return nil
}
