package tests

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// A client that takes no other answers than those in protobuf.
func TestProtobufOnly(t *testing.T) {
	own := rest.CopyConfig(config)
	own.ContentType = protobuf
	own.AcceptContentTypes = protobuf
	clients, err := kubernetes.NewForConfig(own)
	must(t, err)
	namespace := newNamespace(t, newClient(t))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	configMaps := clients.CoreV1().ConfigMaps(namespace)
	seen, err := configMaps.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer seen.Stop()
	made, err := configMaps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"b": "2", "a": "1"}},
		Data:       map[string]string{"k": "v"},
		BinaryData: map[string][]byte{"raw": {1, 2, 3}},
	}, metav1.CreateOptions{})
	must(t, err)
	got, err := configMaps.Get(ctx, "a", metav1.GetOptions{})
	must(t, err)
	if got.UID == "" || got.UID != made.UID || got.Data["k"] != "v" || len(got.BinaryData["raw"]) != 3 ||
		got.CreationTimestamp.IsZero() || len(got.ManagedFields) == 0 || got.ManagedFields[0].FieldsV1 == nil {
		t.Fatalf("%+v", got)
	}
	listed, err := configMaps.List(ctx, metav1.ListOptions{LabelSelector: "a=1"})
	must(t, err)
	if len(listed.Items) != 1 || listed.Items[0].UID != made.UID || listed.ResourceVersion == "" {
		t.Fatalf("%+v", listed)
	}
	got.Data["k"] = "w"
	_, err = configMaps.Update(ctx, got, metav1.UpdateOptions{})
	must(t, err)
	must(t, configMaps.Delete(ctx, "a", metav1.DeleteOptions{}))
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		event, open := <-seen.ResultChan()
		config, isConfigMap := event.Object.(*corev1.ConfigMap)
		if !open || event.Type != kind || !isConfigMap || config.UID != made.UID {
			t.Fatalf("instead of %s: %+v", kind, event)
		}
	}
	if _, err = configMaps.Get(ctx, "a", metav1.GetOptions{}); !errors.IsNotFound(err) {
		t.Fatalf("no 404: %v", err)
	}

	grace := int64(7)
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "c", Image: "nginx"}},
			TerminationGracePeriodSeconds: &grace,
		},
	}
	pod, err := clients.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: template.Spec,
	}, metav1.CreateOptions{})
	must(t, err)
	if *pod.Spec.TerminationGracePeriodSeconds != 7 || pod.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways ||
		pod.Status.Phase != corev1.PodPending {
		t.Fatalf("%+v", pod)
	}
	zero := int32(0)
	deployments := clients.AppsV1().Deployments(namespace)
	deployment, err := deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &zero,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: template,
		},
	}, metav1.CreateOptions{})
	must(t, err)
	if *deployment.Spec.Replicas != 0 || deployment.Spec.Strategy.RollingUpdate.MaxSurge.StrVal != "25%" {
		t.Fatalf("%+v", deployment.Spec)
	}
	scale, err := deployments.GetScale(ctx, "d", metav1.GetOptions{})
	must(t, err)
	if scale.Status.Selector != "app=web" {
		t.Fatalf("%+v", scale)
	}
	all, err := deployments.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(all.Items) != 1 || all.Items[0].Spec.Template.Spec.Containers[0].Image != "nginx" {
		t.Fatalf("%+v", all)
	}
}
