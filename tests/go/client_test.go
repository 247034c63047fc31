package tests

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestDiscovery(t *testing.T) {
	found, err := discovery.NewDiscoveryClientForConfig(config)
	must(t, err)
	groups, lists, err := found.ServerGroupsAndResources()
	must(t, err)
	if len(groups) < 15 || len(lists) < 20 {
		t.Fatalf("%d groups, %d lists", len(groups), len(lists))
	}
	if _, err := found.OpenAPISchema(); err != nil {
		t.Fatal(err)
	}
	paths, err := found.OpenAPIV3().Paths()
	must(t, err)
	if _, err := paths["apis/sea.example.com/v1"].Schema("application/json"); err != nil {
		t.Fatal(err)
	}
	http, err := rest.HTTPClientFor(config)
	must(t, err)
	mapper, err := apiutil.NewDynamicRESTMapper(config, http)
	must(t, err)
	mapping, err := mapper.RESTMapping(GroupVersion.WithKind("Voyage").GroupKind())
	must(t, err)
	if mapping.Resource.Resource != "voyages" || mapping.Scope.Name() != "namespace" {
		t.Fatalf("%+v", mapping)
	}
}

func TestApply(t *testing.T) {
	c := newClient(t)
	namespace := newNamespace(t, c)
	of := func(colour string) *corev1ac.ConfigMapApplyConfiguration {
		return corev1ac.ConfigMap("flag", namespace).WithData(map[string]string{"colour": colour})
	}
	must(t, c.Apply(t.Context(), of("red"), client.FieldOwner("ada")))
	err := c.Apply(t.Context(), of("blue"), client.FieldOwner("bo"))
	if !errors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "ada"`) {
		t.Fatalf("no conflict: %v", err)
	}
	must(t, c.Apply(t.Context(), of("blue"), client.FieldOwner("bo"), client.ForceOwnership))
	flag := &corev1.ConfigMap{}
	must(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "flag"}, flag))
	if flag.Data["colour"] != "blue" {
		t.Fatalf("%v", flag.Data)
	}
	owned, err := corev1ac.ExtractConfigMap(flag, "bo")
	must(t, err)
	if owned.Data["colour"] != "blue" {
		t.Fatalf("extracted %+v", owned)
	}
	must(t, c.Apply(t.Context(), corev1ac.ConfigMap("flag", namespace), client.FieldOwner("bo")))
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(flag), flag))
	if len(flag.Data) != 0 {
		t.Fatalf("nobody's field stays: %v", flag.Data)
	}
}

func TestPatches(t *testing.T) {
	c := newClient(t)
	namespace := newNamespace(t, c)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: "main", Image: "example.com/web:1"}, {Name: "side", Image: "example.com/side:1"},
				}},
			},
		},
	}
	must(t, c.Create(t.Context(), deployment))
	if *deployment.Spec.Replicas != 1 || deployment.Spec.Strategy.RollingUpdate == nil {
		t.Fatalf("no defaults: %+v", deployment.Spec)
	}

	base := deployment.DeepCopy()
	deployment.Spec.Template.Spec.Containers[1].Image = "example.com/side:2"
	must(t, c.Patch(t.Context(), deployment, client.StrategicMergeFrom(base)))
	if images := deployment.Spec.Template.Spec.Containers; images[0].Image != "example.com/web:1" || images[1].Image != "example.com/side:2" {
		t.Fatalf("%+v", images)
	}
	stale := base.DeepCopy()
	stale.Labels = map[string]string{"late": "true"}
	err := c.Patch(t.Context(), stale, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if !errors.IsConflict(err) {
		t.Fatalf("a stale patch: %v", err)
	}
	must(t, c.Patch(t.Context(), deployment, client.RawPatch("application/json-patch+json",
		[]byte(`[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/replicas","value":4}]`))))
	scale := &autoscalingv1.Scale{}
	must(t, c.SubResource("scale").Get(t.Context(), deployment, scale))
	if scale.Spec.Replicas != 4 || scale.Status.Selector != "app=web" {
		t.Fatalf("%+v", scale)
	}
	deployment.Status.Replicas = 4
	must(t, c.Status().Update(t.Context(), deployment))

	wrong := &Voyage{ObjectMeta: metav1.ObjectMeta{Name: "many", Namespace: namespace}, Spec: VoyageSpec{Captain: "Ada", Ships: ptr[int32](12)}}
	if err := c.Create(t.Context(), wrong); !errors.IsInvalid(err) || !strings.Contains(err.Error(), "should be less than or equal to 9") {
		t.Fatalf("not invalid: %v", err)
	}
	loose := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"captain": "Ada", "rudder": "left"},
	}}
	loose.SetGroupVersionKind(GroupVersion.WithKind("Voyage"))
	loose.SetName("loose")
	loose.SetNamespace(namespace)
	if err := c.Create(t.Context(), loose.DeepCopy(), client.FieldValidation("Strict")); !errors.IsBadRequest(err) || !strings.Contains(err.Error(), `unknown field "spec.rudder"`) {
		t.Fatalf("not strict: %v", err)
	}
	must(t, c.Create(t.Context(), loose, client.DryRunAll))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(loose), loose); !errors.IsNotFound(err) {
		t.Fatalf("a dry run stored something: %v", err)
	}
}

func TestUsers(t *testing.T) {
	c := newClient(t)
	namespace := newNamespace(t, c)
	user, err := environment.AddUser(envtest.User{Name: "ada", Groups: []string{"readers"}}, nil)
	must(t, err)
	ada, err := client.New(user.Config(), client.Options{Scheme: scheme})
	must(t, err)
	pods := func() error { return ada.List(t.Context(), &corev1.PodList{}, client.InNamespace(namespace)) }
	if err := pods(); !errors.IsForbidden(err) {
		t.Fatalf("not forbidden: %v", err)
	}
	// "view" has no rules where no controller puts them together.
	must(t, c.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers", Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:aggregate-to-view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "readers"}},
	}))
	eventually(t, "ada may read", pods)
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "delete", Resource: "pods"},
	}}
	must(t, ada.Create(t.Context(), review))
	if review.Status.Allowed {
		t.Fatal("ada may delete")
	}

	impersonated := rest.CopyConfig(config)
	impersonated.Impersonate = rest.ImpersonationConfig{UserName: "bo", Groups: []string{"readers"}}
	bo, err := client.New(impersonated, client.Options{Scheme: scheme})
	must(t, err)
	must(t, bo.List(t.Context(), &corev1.PodList{}, client.InNamespace(namespace)))

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot", Namespace: namespace}}
	must(t, c.Create(t.Context(), account))
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr[int64](600)}}
	must(t, c.SubResource("token").Create(t.Context(), account, token))
	bearer := rest.AnonymousClientConfig(config)
	bearer.BearerToken = token.Status.Token
	robot, err := client.New(bearer, client.Options{Scheme: scheme})
	must(t, err)
	self := &authenticationv1.SelfSubjectReview{}
	must(t, robot.Create(t.Context(), self))
	if want := "system:serviceaccount:" + namespace + ":robot"; self.Status.UserInfo.Username != want {
		t.Fatalf("%q instead of %q", self.Status.UserInfo.Username, want)
	}
}

func TestPods(t *testing.T) {
	c := newClient(t)
	namespace := newNamespace(t, c)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: namespace},
		Spec:       corev1.PodSpec{NodeName: "somewhere", Containers: []corev1.Container{{Name: "main", Image: "example.com/web:1"}}},
	}
	must(t, c.Create(t.Context(), pod))
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must(t, c.Status().Update(t.Context(), pod))
	must(t, c.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr[int64](0)},
	}))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); !errors.IsNotFound(err) {
		t.Fatalf("the evicted pod is there: %v", err)
	}
}
