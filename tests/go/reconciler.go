package tests

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1 "k8s.io/api/core/v1"
)

const (
	finalizer = "sea.example.com/dock"
	manager   = "voyage-controller"
)

// Reconciler keeps a Deployment for each Voyage, by server-side apply, and removes a log book when the Voyage ends.
type Reconciler struct {
	client.Client
	Events events.EventRecorder
}

func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	skip := true // names of controllers are unique in a process, and several tests have one
	return ctrl.NewControllerManagedBy(mgr).
		For(&Voyage{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{SkipNameValidation: &skip}).
		Complete(r)
}

func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	voyage := &Voyage{}
	if err := r.Get(ctx, request.NamespacedName, voyage); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !voyage.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.end(ctx, voyage)
	}
	if controllerutil.AddFinalizer(voyage, finalizer) {
		return ctrl.Result{}, r.Update(ctx, voyage)
	}
	book := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: voyage.Name + "-log", Namespace: voyage.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, book, func() error {
		book.Data = map[string]string{"captain": voyage.Spec.Captain}
		return nil
	}); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Apply(ctx, deploymentOf(voyage), client.FieldOwner(manager), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	before := voyage.DeepCopy()
	voyage.Status.Ships = *voyage.Spec.Ships
	voyage.Status.ObservedGeneration = voyage.Generation
	changed := meta.SetStatusCondition(&voyage.Status.Conditions, metav1.Condition{
		Type: "UnderWay", Status: metav1.ConditionTrue, Reason: "Departed", ObservedGeneration: voyage.Generation,
	})
	if changed {
		r.Events.Eventf(voyage, nil, corev1.EventTypeNormal, "Departed", "Sail", "%s set sail", voyage.Spec.Captain)
	}
	return ctrl.Result{}, r.Status().Patch(ctx, voyage, client.MergeFrom(before))
}

func (r *Reconciler) end(ctx context.Context, voyage *Voyage) error {
	book := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: voyage.Name + "-log", Namespace: voyage.Namespace}}
	if err := r.Delete(ctx, book); err != nil && !errors.IsNotFound(err) {
		return err
	}
	if controllerutil.RemoveFinalizer(voyage, finalizer) {
		return client.IgnoreNotFound(r.Update(ctx, voyage))
	}
	return nil
}

func deploymentOf(voyage *Voyage) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"voyage": voyage.Name}
	return appsv1ac.Deployment(voyage.Name, voyage.Namespace).
		WithLabels(labels).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(GroupVersion.String()).WithKind("Voyage").WithName(voyage.Name).WithUID(voyage.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(*voyage.Spec.Ships).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(
					corev1ac.Container().WithName("ship").WithImage("example.com/ship:1")))))
}
