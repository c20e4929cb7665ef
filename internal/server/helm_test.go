package server

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
)

// The chart's templates use text/template and three functions of Helm, so it
// renders without Helm: every document is YAML, no two have one name, and the
// server takes its configuration.
func TestHelmChart(t *testing.T) {
	const chart = "../../deploy/helm/weir"
	var values map[string]any
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	values["server"].(map[string]any)["receivers"] = []any{map[string]any{"url": "http://alertmanager:9093"}}
	values["server"].(map[string]any)["store"] = "http://victoria:8428"
	values["server"].(map[string]any)["storageClassName"] = "fast"
	funcs := template.FuncMap{
		"toYaml": func(v any) (string, error) {
			b, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(b), "\n"), err
		},
		"nindent": func(n int, s string) string {
			pad := "\n" + strings.Repeat(" ", n)
			return pad + strings.ReplaceAll(s, "\n", pad)
		},
	}
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	kinds := map[string]int{}
	for _, name := range files {
		tpl, err := template.New(filepath.Base(name)).Funcs(funcs).Option("missingkey=error").ParseFiles(name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := tpl.Execute(&b, map[string]any{"Values": values, "Release": map[string]any{"Name": "w", "Namespace": "rdma"}}); err != nil {
			t.Fatal(err)
		}
		for _, doc := range strings.Split(b.String(), "\n---\n") {
			var d struct {
				Kind     string `yaml:"kind"`
				Metadata struct {
					Name string `yaml:"name"`
				} `yaml:"metadata"`
				Data map[string]string `yaml:"data"`
			}
			if err := yaml.Unmarshal([]byte(doc), &d); err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, doc)
			}
			if d.Kind == "" || d.Metadata.Name == "" {
				t.Errorf("%s: a document without kind or name:\n%s", name, doc)
			}
			kinds[d.Kind]++
			if cfg, ok := d.Data["weir-server.yml"]; ok {
				c, err := parseConfig("weir-server.yml", []byte(cfg))
				if err != nil {
					t.Fatalf("%v in\n%s", err, cfg)
				}
				if c.Agents.Kubernetes.Selector != "app.kubernetes.io/name=weir-agent,app.kubernetes.io/instance=w" || len(c.Alerts.Receivers) != 1 {
					t.Errorf("%+v", c)
				}
			}
		}
	}
	for _, kind := range []string{"DaemonSet", "StatefulSet", "Service", "ConfigMap", "Role", "RoleBinding", "ServiceAccount"} {
		if kinds[kind] != 1 {
			t.Errorf("%d documents of kind %s", kinds[kind], kind)
		}
	}
}
