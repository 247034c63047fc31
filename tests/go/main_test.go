package tests

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var (
	environment *envtest.Environment
	config      *rest.Config
	scheme      = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr)))
	os.Exit(run(m))
}

func run(m *testing.M) int {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	environment = &envtest.Environment{
		CRDDirectoryPaths:        []string{"crds"},
		ErrorIfCRDPathMissing:    true,
		WebhookInstallOptions:    webhooks(),
		Scheme:                   scheme,
		AttachControlPlaneOutput: true,
	}
	began := time.Now()
	var err error
	if config, err = environment.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "the test environment does not start:", err)
		return 1
	}
	fmt.Printf("envtest is up after %v\n", time.Since(began).Round(time.Millisecond))
	code := m.Run()
	if err := environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "the test environment does not stop:", err)
		return 1
	}
	return code
}

// newClient reads from the server itself.
func newClient(t *testing.T) client.Client {
	t.Helper()
	made, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// newNamespace is one of the test's own.
func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// newManager has a cache; it watches one namespace.
func newManager(t *testing.T, options ctrl.Options) ctrl.Manager {
	t.Helper()
	options.Scheme = scheme
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	made, err := ctrl.NewManager(config, options)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// start runs a manager until the test ends or stop is called, which waits for its end.
func start(t *testing.T, mgr ctrl.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil && ctx.Err() == nil {
			t.Errorf("the manager ended: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// eventually waits for a condition, and says what is missing when it does not come.
func eventually(t *testing.T, what string, condition func() error) {
	t.Helper()
	var last error
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if last = condition(); last == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, last)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ptr[T any](value T) *T { return &value }
