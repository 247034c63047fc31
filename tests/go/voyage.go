// Package tests runs a controller-runtime manager, with clients as Go controllers have them, against Atoll's API server.
package tests

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of Voyage.
var GroupVersion = schema.GroupVersion{Group: "sea.example.com", Version: "v1"}

// Voyage is a kind as a controller's author would have one.
type Voyage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              VoyageSpec   `json:"spec"`
	Status            VoyageStatus `json:"status,omitempty"`
}

type VoyageSpec struct {
	Captain string `json:"captain"`
	Ships   *int32 `json:"ships,omitempty"`
	Ports   []Port `json:"ports,omitempty"`
}

type Port struct {
	Name string `json:"name"`
	Days int32  `json:"days,omitempty"`
}

type VoyageStatus struct {
	Ships              int32              `json:"ships,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type VoyageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Voyage `json:"items"`
}

func (v *Voyage) DeepCopyObject() runtime.Object { return v.DeepCopy() }

func (v *Voyage) DeepCopy() *Voyage {
	out := *v
	out.ObjectMeta = *v.ObjectMeta.DeepCopy()
	if v.Spec.Ships != nil {
		ships := *v.Spec.Ships
		out.Spec.Ships = &ships
	}
	out.Spec.Ports = append([]Port(nil), v.Spec.Ports...)
	out.Status.Conditions = append([]metav1.Condition(nil), v.Status.Conditions...)
	return &out
}

func (l *VoyageList) DeepCopyObject() runtime.Object {
	out := *l
	out.ListMeta = *l.ListMeta.DeepCopy()
	out.Items = make([]Voyage, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopy()
	}
	return &out
}

// AddToScheme makes Voyage known.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Voyage{}, &VoyageList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
