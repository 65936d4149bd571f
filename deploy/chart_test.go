package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// chart renders the chart as helm does, as far as its templates need that.
func chart(t *testing.T, values map[string]any) (string, error) {
	t.Helper()
	all := template.New("").Option("missingkey=error")
	all.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := all.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"nindent": func(n int, text string) string {
			return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
		},
		"quote": func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"default": func(usual, v any) any {
			if v == nil || reflect.ValueOf(v).IsZero() {
				return usual
			}
			return v
		},
		"required": func(reason string, v any) (any, error) {
			if v == nil || v == "" {
				return nil, errors.New(reason)
			}
			return v, nil
		},
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
	})
	if _, err := all.ParseGlob("helm/shardsh/templates/*"); err != nil {
		t.Fatal(err)
	}
	data := map[string]any{
		"Values": values, "Chart": map[string]any{"AppVersion": document(t, "helm/shardsh/Chart.yaml")["appVersion"]},
		"Release": map[string]any{"Name": "shardsh", "Namespace": "default"},
	}
	var b strings.Builder
	for _, name := range []string{"clusters.yaml", "exporter.yaml", "check.yaml", "drain.yaml"} {
		b.WriteString("---\n")
		if err := all.ExecuteTemplate(&b, name, data); err != nil {
			return "", err
		}
	}
	return b.String(), all.ExecuteTemplate(io.Discard, "NOTES.txt", data)
}

// document reads a file with one document of YAML.
func document(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return doc
}

// objects returns the documents of a text by kind and name.
func objects(t *testing.T, text []byte) map[string]map[string]any {
	t.Helper()
	list := make(map[string]map[string]any)
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc map[string]any
		switch err := decoder.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatalf("%v in\n%s", err, text)
		case doc != nil:
			named, _ := doc["metadata"].(map[string]any)
			list[fmt.Sprint(doc["kind"], "/", named["name"])] = doc
		}
	}
}

// The plain manifests are what the chart makes: helm has rendered them, and this test renders
// the chart again.
func TestManifestsAreTheCharts(t *testing.T) {
	values := document(t, "helm/shardsh/values.yaml")
	drain, _ := values["drain"].(map[string]any)
	drain["enabled"], drain["shard"] = true, "shard3"
	text, err := chart(t, values)
	if err != nil {
		t.Fatal(err)
	}
	made, plain := objects(t, []byte(text)), make(map[string]map[string]any)
	files, err := filepath.Glob("manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(plain, objects(t, text))
	}
	want := []string{"ConfigMap/shardsh-clusters", "CronJob/shardsh-check", "Deployment/shardsh-exporter", "Job/shardsh-drain",
		"Service/shardsh-exporter"}
	if got := slices.Sorted(maps.Keys(plain)); !slices.Equal(got, want) {
		t.Errorf("the manifests have %q", got)
	}
	for name, doc := range plain {
		if !reflect.DeepEqual(doc, made[name]) {
			one, _ := yaml.Marshal(doc)
			other, _ := yaml.Marshal(made[name])
			t.Errorf("%s is\n%s\nand by the chart\n%s", name, one, other)
		}
	}
}

// Each part of the chart is there when its values ask for it.
func TestChartValues(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(values map[string]any)
		want   []string
		reason string
	}{
		{"nothing", func(v map[string]any) {
			part(v, "exporter")["enabled"], part(v, "check")["enabled"] = false, false
		}, []string{"ConfigMap/shardsh-clusters"}, ""},
		{"monitor", func(v map[string]any) {
			part(v, "exporter")["serviceMonitor"], part(v, "exporter")["authSecret"] = true, "scrape"
			part(v, "check")["enabled"] = false
		}, []string{"ConfigMap/shardsh-clusters", "Deployment/shardsh-exporter", "Service/shardsh-exporter",
			"ServiceMonitor/shardsh-exporter"}, ""},
		{"no passwords", func(v map[string]any) {
			v["passwordSecret"] = ""
			part(v, "exporter")["enabled"] = false
		}, []string{"ConfigMap/shardsh-clusters", "CronJob/shardsh-check"}, ""},
		{"a drain without a shard", func(v map[string]any) { part(v, "drain")["enabled"] = true }, nil, "names the shard to empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := document(t, "helm/shardsh/values.yaml")
			c.change(values)
			text, err := chart(t, values)
			if c.reason != "" {
				if err == nil || !strings.Contains(err.Error(), c.reason) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(objects(t, []byte(text)))); !slices.Equal(got, c.want) {
				t.Errorf("%q", got)
			}
			if hasSecret := strings.Contains(text, "secretName: shardsh-passwords"); hasSecret == (c.name == "no passwords") &&
				c.name != "nothing" {
				t.Errorf("mounts passwords: %v", hasSecret)
			}
		})
	}
}

func part(values map[string]any, name string) map[string]any {
	found, _ := values[name].(map[string]any)
	return found
}

// No pod may more than it needs.
func TestPodsAreRestricted(t *testing.T) {
	text, err := chart(t, document(t, "helm/shardsh/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pods := 0
	var look func(of any)
	look = func(of any) {
		switch of := of.(type) {
		case []any:
			for _, v := range of {
				look(v)
			}
		case map[string]any:
			if containers, is := of["containers"].([]any); is {
				pods++
				container, _ := containers[0].(map[string]any)
				own, all := part(container, "securityContext"), part(of, "securityContext")
				if own["readOnlyRootFilesystem"] != true || own["allowPrivilegeEscalation"] != false || all["runAsNonRoot"] != true ||
					of["automountServiceAccountToken"] != false || !reflect.DeepEqual(own["capabilities"], map[string]any{"drop": []any{"ALL"}}) {
					t.Errorf("%v", of)
				}
			}
			for _, v := range of {
				look(v)
			}
		}
	}
	for _, doc := range objects(t, []byte(text)) {
		look(doc)
	}
	if pods != 2 {
		t.Errorf("%d pods", pods)
	}
}
