package tests

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// guarded is the label of namespaces whose voyages the webhooks are asked about.
const guarded = "guarded"

// captains names the captain of a voyage, and knows who may not be one.
type captains struct{}

func (captains) Default(_ context.Context, voyage *Voyage) error {
	if voyage.Annotations == nil {
		voyage.Annotations = map[string]string{}
	}
	voyage.Annotations["greeting"] = "Captain " + voyage.Spec.Captain
	return nil
}

func (captains) ValidateCreate(_ context.Context, voyage *Voyage) (admission.Warnings, error) {
	if voyage.Annotations["greeting"] == "" {
		return nil, fmt.Errorf("the defaulter was not asked before")
	}
	if voyage.Spec.Captain == "Hook" {
		return nil, fmt.Errorf("pirates are not welcome")
	}
	return admission.Warnings{"the sea is rough"}, nil
}

func (captains) ValidateUpdate(_ context.Context, old, voyage *Voyage) (admission.Warnings, error) {
	if old.Spec.Captain != voyage.Spec.Captain {
		return nil, fmt.Errorf("%s stays captain", old.Spec.Captain)
	}
	return nil, nil
}

func (captains) ValidateDelete(_ context.Context, voyage *Voyage) (admission.Warnings, error) {
	if voyage.Labels["at"] == "sea" {
		return nil, fmt.Errorf("not at sea")
	}
	return nil, nil
}

// webhooks are installed by envtest, which puts the address of the manager in place of the service.
func webhooks() envtest.WebhookInstallOptions {
	rules := func(operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
		return []admissionregistrationv1.RuleWithOperations{{
			Operations: operations,
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{GroupVersion.Group}, APIVersions: []string{"v1"}, Resources: []string{"voyages"}},
		}}
	}
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "webhooks", Path: &path},
		}
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{guarded: "yes"}}
	none := admissionregistrationv1.SideEffectClassNone
	return envtest.WebhookInstallOptions{
		MutatingWebhooks: []*admissionregistrationv1.MutatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "captains"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "default.sea.example.com", ClientConfig: at("/mutate-sea-example-com-v1-voyage"), NamespaceSelector: selector,
				Rules: rules("CREATE", "UPDATE"), SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			}},
		}},
		ValidatingWebhooks: []*admissionregistrationv1.ValidatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "captains"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "validate.sea.example.com", ClientConfig: at("/validate-sea-example-com-v1-voyage"), NamespaceSelector: selector,
				Rules: rules("CREATE", "UPDATE", "DELETE"), SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			}},
		}},
	}
}

// warnings are those that answers bring.
type warnings struct{ said []string }

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.said = append(w.said, text)
}

func TestWebhooks(t *testing.T) {
	heard := &warnings{}
	attentive := rest.CopyConfig(config)
	attentive.WarningHandlerWithContext = heard
	c, err := client.New(attentive, client.Options{Scheme: scheme})
	must(t, err)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{guarded: "yes"}}}
	must(t, c.Create(t.Context(), namespace))
	of := func(name, captain string) *Voyage {
		return &Voyage{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace.Name}, Spec: VoyageSpec{Captain: captain}}
	}
	if err := c.Create(t.Context(), of("early", "Ada")); !errors.IsInternalError(err) || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Fatalf("nobody answers: %v", err)
	}

	installed := environment.WebhookInstallOptions
	mgr := newManager(t, ctrl.Options{WebhookServer: webhook.NewServer(webhook.Options{
		Host: installed.LocalServingHost, Port: installed.LocalServingPort, CertDir: installed.LocalServingCertDir,
	})})
	must(t, ctrl.NewWebhookManagedBy(mgr, &Voyage{}).WithDefaulter(captains{}).WithValidator(captains{}).Complete())
	start(t, mgr)
	address := fmt.Sprintf("%s:%d", installed.LocalServingHost, installed.LocalServingPort)
	eventually(t, "the webhooks listen", func() error {
		dialer := &net.Dialer{Timeout: time.Second}
		connection, err := tls.DialWithDialer(dialer, "tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return err
		}
		return connection.Close()
	})

	voyage := of("good", "Ada")
	must(t, c.Create(t.Context(), voyage))
	if voyage.Annotations["greeting"] != "Captain Ada" {
		t.Fatalf("no greeting: %v", voyage.Annotations)
	}
	if strings.Join(heard.said, "") != "the sea is rough" {
		t.Fatalf("warnings %v", heard.said)
	}
	refused := func(what string, err error, reason string) {
		t.Helper()
		want := `admission webhook "validate.sea.example.com" denied the request: ` + reason
		if !errors.IsForbidden(err) || err.Error() != want {
			t.Fatalf("%s: %v", what, err)
		}
	}
	refused("a pirate", c.Create(t.Context(), of("bad", "Hook")), "pirates are not welcome")
	refused("a pirate, as a dry run", c.Create(t.Context(), of("bad", "Hook"), client.DryRunAll), "pirates are not welcome")
	voyage.Spec.Captain = "Bo"
	refused("another captain", c.Update(t.Context(), voyage), "Ada stays captain")
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(voyage), voyage))
	voyage.Labels = map[string]string{"at": "sea"}
	must(t, c.Update(t.Context(), voyage))
	refused("the end", c.Delete(t.Context(), voyage), "not at sea")
	voyage.Labels = nil
	must(t, c.Update(t.Context(), voyage))
	must(t, c.Delete(t.Context(), voyage))

	// A namespace without the label is nobody's business.
	elsewhere := of("free", "Hook")
	elsewhere.Namespace = newNamespace(t, c)
	must(t, c.Create(t.Context(), elsewhere))
}
