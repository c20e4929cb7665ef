package scrape

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The answers have the form of a PodList of Kubernetes' API v1.
func TestKubernetesTargets(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" || r.URL.Path != "/api/v1/namespaces/rdma/pods" || r.FormValue("labelSelector") != "app=weir-agent" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.FormValue("continue") == "" {
			fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"more"},"items":[
				{"metadata":{"name":"agent-b"},"spec":{"nodeName":"node-b","hostNetwork":true},"status":{"phase":"Running","podIP":"10.0.0.2"}},
				{"metadata":{"name":"agent-c"},"spec":{"nodeName":"node-c"},"status":{"phase":"Pending"}}]}`)
			return
		}
		fmt.Fprint(w, `{"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"agent-a"},"spec":{"nodeName":"node-a"},"status":{"phase":"Running","podIP":"fd00::1"}}]}`)
	}))
	defer api.Close()
	k := FromKubernetes{API: api.URL, Client: api.Client(), Token: func() (string, error) { return "s3cret", nil }, Namespace: "rdma", Selector: "app=weir-agent", Port: 9779}
	got, err := k.Targets(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []Target{{URL: "https://[fd00::1]:9779/metrics", Instance: "node-a"}, {URL: "https://10.0.0.2:9779/metrics", Instance: "node-b"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	k.Selector = "app=other"
	if _, err := k.Targets(context.Background()); err == nil {
		t.Error("a refusal of the API server is no error")
	}
}
