package tests

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestReconcile(t *testing.T) {
	c := newClient(t)
	namespace := newNamespace(t, c)
	mgr := newManager(t, ctrl.Options{Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}})
	reconciler := &Reconciler{Client: mgr.GetClient(), Events: mgr.GetEventRecorder(manager)}
	must(t, reconciler.SetupWithManager(mgr))
	start(t, mgr)

	voyage := &Voyage{
		ObjectMeta: metav1.ObjectMeta{Name: "north", Namespace: namespace},
		Spec:       VoyageSpec{Captain: "Ada", Ports: []Port{{Name: "Oslo", Days: 2}}},
	}
	must(t, c.Create(t.Context(), voyage))
	if voyage.Spec.Ships == nil || *voyage.Spec.Ships != 1 {
		t.Fatalf("no default: %+v", voyage.Spec)
	}
	key := client.ObjectKeyFromObject(voyage)
	eventually(t, "the status", func() error {
		must(t, c.Get(t.Context(), key, voyage))
		if !meta.IsStatusConditionTrue(voyage.Status.Conditions, "UnderWay") || voyage.Status.Ships != 1 {
			return fmt.Errorf("%+v", voyage.Status)
		}
		return nil
	})
	deployment := &appsv1.Deployment{}
	must(t, c.Get(t.Context(), key, deployment))
	if owner := metav1.GetControllerOf(deployment); owner == nil || owner.UID != voyage.UID {
		t.Fatalf("owner %+v", owner)
	}

	// Drift is seen through the cache's watch of what is owned.
	deployment.Spec.Replicas = ptr[int32](7)
	must(t, c.Update(t.Context(), deployment, client.FieldOwner("vandal")))
	eventually(t, "the drift is undone", func() error {
		must(t, c.Get(t.Context(), key, deployment))
		if *deployment.Spec.Replicas != 1 {
			return fmt.Errorf("replicas %d", *deployment.Spec.Replicas)
		}
		return nil
	})

	// The scale subresource is a way to the specification.
	scale := client.SubResourceClient(c.SubResource("scale"))
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`))
	must(t, scale.Patch(t.Context(), voyage, patch))
	eventually(t, "the deployment follows", func() error {
		must(t, c.Get(t.Context(), key, deployment))
		must(t, c.Get(t.Context(), key, voyage))
		if *deployment.Spec.Replicas != 3 || voyage.Status.Ships != 3 {
			return fmt.Errorf("replicas %d, status %+v", *deployment.Spec.Replicas, voyage.Status)
		}
		return nil
	})

	events := &eventsv1.EventList{}
	eventually(t, "an event", func() error {
		must(t, c.List(t.Context(), events, client.InNamespace(namespace)))
		if len(events.Items) == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})

	must(t, c.Delete(t.Context(), voyage))
	eventually(t, "the voyage ends", func() error {
		if err := c.Get(t.Context(), key, voyage); !errors.IsNotFound(err) {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
	book := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "north-log"}, book); !errors.IsNotFound(err) {
		t.Fatalf("the finalizer left the log book: %v", err)
	}
}

func TestLeaderElection(t *testing.T) {
	c := newClient(t)
	namespace := newNamespace(t, c)
	options := ctrl.Options{
		LeaderElection: true, LeaderElectionID: "voyages", LeaderElectionNamespace: namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr(2 * time.Second), RenewDeadline: ptr(1500 * time.Millisecond), RetryPeriod: ptr(200 * time.Millisecond),
	}
	first, second := newManager(t, options), newManager(t, options)
	stopFirst := start(t, first)
	<-first.Elected()
	start(t, second)
	lease := &coordinationv1.Lease{}
	must(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "voyages"}, lease))
	holder := *lease.Spec.HolderIdentity
	select {
	case <-second.Elected():
		t.Fatal("both lead")
	case <-time.After(time.Second):
	}
	stopFirst()
	select {
	case <-second.Elected():
	case <-time.After(10 * time.Second):
		t.Fatal("nobody leads")
	}
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(lease), lease))
	if *lease.Spec.HolderIdentity == holder || *lease.Spec.LeaseTransitions < 1 {
		t.Fatalf("the lease did not change hands: %+v", lease.Spec)
	}
}

func TestCache(t *testing.T) {
	c := newClient(t)
	namespace := newNamespace(t, c)
	mgr := newManager(t, ctrl.Options{Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}})
	must(t, mgr.GetFieldIndexer().IndexField(t.Context(), &Voyage{}, "captain", func(object client.Object) []string {
		return []string{object.(*Voyage).Spec.Captain}
	}))
	for i := range 12 {
		must(t, c.Create(t.Context(), &Voyage{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("v%02d", i), Namespace: namespace, Labels: map[string]string{"even": fmt.Sprint(i%2 == 0)}},
			Spec:       VoyageSpec{Captain: []string{"Ada", "Bo", "Cy"}[i%3]},
		}))
	}
	start(t, mgr)
	if !mgr.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not sync")
	}
	expect := func(what string, reader client.Reader, list client.ObjectList, want int, options ...client.ListOption) {
		t.Helper()
		eventually(t, what, func() error {
			must(t, reader.List(t.Context(), list, append(options, client.InNamespace(namespace))...))
			if got := meta.LenList(list); got != want {
				return fmt.Errorf("%d instead of %d", got, want)
			}
			return nil
		})
	}
	cached := mgr.GetClient()
	expect("all", cached, &VoyageList{}, 12)
	expect("by label", cached, &VoyageList{}, 6, client.MatchingLabels{"even": "true"})
	expect("by index", cached, &VoyageList{}, 4, client.MatchingFields{"captain": "Bo"})
	expect("by selectable field, of the server", c, &VoyageList{}, 4, client.MatchingFields{"spec.captain": "Bo"})

	// Metadata alone is watched as another representation.
	partial := &metav1.PartialObjectMetadataList{}
	partial.SetGroupVersionKind(GroupVersion.WithKind("VoyageList"))
	expect("metadata", cached, partial, 12)
	config := &metav1.PartialObjectMetadataList{}
	config.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	expect("metadata of a built-in kind", cached, config, 0)

	must(t, c.DeleteAllOf(t.Context(), &Voyage{}, client.InNamespace(namespace), client.MatchingLabels{"even": "true"}))
	expect("what is left", cached, &VoyageList{}, 6)
	expect("metadata of what is left", cached, partial, 6)
	must(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: namespace}}))
	expect("a late config map", cached, config, 1)
	expect("a late config map, typed", cached, &corev1.ConfigMapList{}, 1)

	// Pages.
	page := &VoyageList{}
	seen := 0
	for first := true; first || page.Continue != ""; first = false {
		must(t, c.List(t.Context(), page, client.InNamespace(namespace), client.Limit(4), client.Continue(page.Continue)))
		seen += len(page.Items)
	}
	if seen != 6 {
		t.Fatalf("%d in pages", seen)
	}
}
