package mixin

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/export"
)

var update = flag.Bool("update", false, "write the dashboards again")

// panel is one of a dashboard.
type panel struct {
	title, kind string // stat, timeseries, bargauge or table
	unit        string
	width       int // of 24
	queries     []string
	legend      string
	// may is when a query has no answer; empty is never.
	may string
}

type dashboard struct {
	name, title string
	variables   []string // with the query of their values
	panels      []panel
}

const of, at = `{cluster=~"$cluster"}`, `{cluster=~"$cluster",ns=~"$ns"}`

// dashboards are those of the directory.
func dashboards() []dashboard {
	cluster := []string{"cluster", "label_values(shardsh_check_up, cluster)"}
	return []dashboard{
		{"fleet", "shardsh: fleet", nil, []panel{
			{"Clusters", "stat", "", 4, []string{"count(shardsh_check_up)"}, "", ""},
			{"Can't be read", "stat", "", 4, []string{"count(shardsh_check_up == 0) or vector(0)"}, "", ""},
			{"Not balanced", "stat", "", 4, []string{"count(shardsh_balanced == 0) or vector(0)"}, "", ""},
			{"Balancer off", "stat", "", 4, []string{"count(shardsh_balancer_enabled == 0) or vector(0)"}, "", ""},
			{"Critical findings", "stat", "", 4, []string{`sum(shardsh_findings{severity="critical"}) or vector(0)`}, "", ""},
			{"Data", "stat", "bytes", 4, []string{"sum(shardsh_collection_bytes)"}, "", ""},
			{"Worst clusters: findings, a critical one counts 100", "table", "", 12, []string{
				`sort_desc(sum by (cluster) (shardsh_findings{severity="warning"} or 100 * shardsh_findings{severity="critical"}))`},
				"{{cluster}}", "there are no findings"},
			{"Time to balance, likely", "table", "s", 12,
				[]string{`sort_desc(sum by (cluster) (shardsh_time_to_balance_seconds{bound="likely"} > 0))`}, "{{cluster}}",
				"all are balanced"},
			{"Moves a minute", "timeseries", "", 12, []string{"sum by (cluster) (cluster:shardsh_moves:rate5m) * 60"}, "{{cluster}}", ""},
			{"Failures a minute", "timeseries", "", 12, []string{"sum by (cluster) (cluster:shardsh_move_failures:rate5m) * 60"},
				"{{cluster}}", ""},
			{"Findings by code", "table", "", 12, []string{"sort_desc(sum by (code, severity) (shardsh_findings))"},
				"{{code}} ({{severity}})", "there are no findings"},
			{"Age of what is known", "timeseries", "s", 12, []string{"time() - shardsh_export_last_read_timestamp_seconds"},
				"{{cluster}}", ""},
		}},
		{"cluster", "shardsh: cluster", cluster, []panel{
			{"Up", "stat", "", 4, []string{"shardsh_check_up" + of}, "", ""},
			{"Balancer on", "stat", "", 4, []string{"shardsh_balancer_enabled" + of}, "", ""},
			{"Balanced", "stat", "", 4, []string{"shardsh_balanced" + of}, "", ""},
			{"Migrations now", "stat", "", 4, []string{"shardsh_migrations_running" + of}, "", ""},
			{"Left to move", "stat", "bytes", 4, []string{"shardsh_balance_left_bytes" + of}, "", ""},
			{"Time to balance", "stat", "s", 4, []string{"shardsh_time_to_balance_seconds" + of}, "{{bound}}",
				"the balancer does not get there"},
			{"Data by shard", "timeseries", "bytes", 12, []string{"cluster_shard:shardsh_collection_bytes:sum" + of}, "{{shard}}", ""},
			{"Chunks by shard", "timeseries", "", 12, []string{"cluster_shard:shardsh_collection_chunks:sum" + of}, "{{shard}}", ""},
			{"Moves a minute off a shard", "timeseries", "", 8, []string{"rate(shardsh_moves_total" + of + "[5m]) * 60"}, "{{shard}}", ""},
			{"Bytes a second", "timeseries", "Bps", 8, []string{"rate(shardsh_moved_bytes_total" + of + "[5m])"}, "{{shard}}", ""},
			{"Failures a minute", "timeseries", "", 8, []string{"rate(shardsh_move_failures_total" + of + "[5m]) * 60"}, "{{shard}}", ""},
			{"Collections by state", "timeseries", "", 8, []string{"shardsh_collections" + of}, "{{state}}", ""},
			{"Findings", "table", "", 8, []string{"shardsh_findings" + of}, "{{code}} ({{severity}})", "there are no findings"},
			{"Disk used", "bargauge", "percentunit", 8, []string{"cluster_shard:shardsh_shard_disk_used:ratio" + of}, "{{shard}}", ""},
			{"Most uneven collections", "table", "percentunit", 12,
				[]string{"topk(10, cluster_ns:shardsh_collection_deviation:max_abs" + of + ")"}, "{{ns}}", ""},
			{"Operations a second", "timeseries", "ops", 12, []string{"shardsh_shard_operations_per_second" + of}, "{{shard}} {{kind}}",
				"--heat is not given"},
		}},
		{"collection", "shardsh: collection", append(slices.Clone(cluster),
			"ns", `label_values(shardsh_collection_compliant{cluster=~"$cluster"}, ns)`), []panel{
			{"Balanced", "stat", "", 6, []string{"shardsh_collection_compliant" + at}, "{{ns}}", ""},
			{"Balancer may touch it", "stat", "", 6, []string{"shardsh_collection_balancing" + at}, "{{ns}}", ""},
			{"Data", "stat", "bytes", 6, []string{"sum by (ns) (shardsh_collection_bytes" + at + ")"}, "{{ns}}", ""},
			{"Chunks", "stat", "", 6, []string{"sum by (ns) (shardsh_collection_chunks" + at + ")"}, "{{ns}}", ""},
			{"Data by shard", "timeseries", "bytes", 12, []string{"shardsh_collection_bytes" + at}, "{{ns}} {{shard}}", ""},
			{"From the fair share", "timeseries", "percentunit", 12, []string{"shardsh_collection_deviation_ratio" + at},
				"{{ns}} {{shard}}", ""},
			{"Chunks by shard", "timeseries", "", 8, []string{"shardsh_collection_chunks" + at}, "{{ns}} {{shard}}", ""},
			{"Jumbo chunks", "timeseries", "", 8, []string{"shardsh_collection_jumbo_chunks" + at}, "{{ns}} {{shard}}", ""},
			{"Orphaned documents", "timeseries", "", 8, []string{"shardsh_collection_orphan_documents" + at}, "{{ns}} {{shard}}", ""},
		}},
		{"run", "shardsh: run", nil, []panel{
			{"Who holds the lease", "table", "", 12, []string{"shardsh_run_lease_info"}, "{{cluster}} {{host}} {{doing}}", ""},
			{"Clusters whose runs are paused", "table", "", 12, []string{"shardsh_runs_paused == 1"}, "{{cluster}}", "no pause"},
			{"Moves", "stat", "", 6, []string{"shardsh_run_moves_total"}, "{{instance}}", ""},
			{"Bytes", "stat", "bytes", 6, []string{"shardsh_run_bytes_total"}, "{{instance}}", ""},
			{"Left", "stat", "bytes", 6, []string{"shardsh_run_left_bytes"}, "{{instance}}", ""},
			{"To go", "stat", "s", 6, []string{"shardsh_run_to_go_seconds"}, "{{bound}}", ""},
			{"Bytes a second", "timeseries", "Bps", 8, []string{"rate(shardsh_run_bytes_total[5m])"}, "{{instance}}", ""},
			{"Failures by class", "timeseries", "", 8, []string{"increase(shardsh_run_failures_total[5m])"}, "{{class}}", ""},
			{"Waits by reason", "timeseries", "s", 8, []string{"increase(shardsh_run_waited_seconds_total[5m])"}, "{{reason}}", ""},
		}},
	}
}

type object = map[string]any

// model is the dashboard as Grafana reads it.
func (d dashboard) model() object {
	source := object{"type": "prometheus", "uid": "${datasource}"}
	variables := []any{object{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}}
	for i := 0; i+1 < len(d.variables); i += 2 {
		variables = append(variables, object{"name": d.variables[i], "type": "query", "datasource": source, "refresh": 2,
			"definition": d.variables[i+1], "query": object{"query": d.variables[i+1], "refId": d.variables[i]},
			"multi": d.variables[i] == "ns", "includeAll": d.variables[i] == "ns", "sort": 1})
	}
	var panels []any
	x, y, height := 0, 0, 0
	for i, p := range d.panels {
		if x+p.width > 24 {
			x, y = 0, y+height
		}
		height = 8
		if p.kind == "stat" {
			height = 4
		}
		var targets []any
		for k, q := range p.queries {
			targets = append(targets, object{"refId": string(rune('A' + k)), "expr": q, "legendFormat": p.legend, "datasource": source,
				"instant": p.kind != "timeseries", "range": p.kind == "timeseries"})
		}
		panels = append(panels, object{"id": i + 1, "title": p.title, "type": p.kind, "datasource": source, "targets": targets,
			"gridPos":     object{"x": x, "y": y, "w": p.width, "h": height},
			"fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []any{}}})
		x += p.width
	}
	return object{"uid": "shardsh-" + d.name, "title": d.title, "tags": []string{"shardsh", "mongodb"}, "schemaVersion": 39,
		"refresh": "30s", "time": object{"from": "now-6h", "to": "now"}, "templating": object{"list": variables},
		"panels": panels, "editable": true}
}

// The files are those of the table: go test -run Dashboards -update writes them.
func TestDashboards(t *testing.T) {
	for _, d := range dashboards() {
		var want bytes.Buffer
		to := json.NewEncoder(&want)
		to.SetEscapeHTML(false)
		to.SetIndent("", " ")
		if err := to.Encode(d.model()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("dashboards", d.name+".json")
		if *update {
			if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what the table says: rewrite it with -update", path)
		}
	}
}

// rules are the groups of a file.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Record, Expr string
			Annotations         map[string]string
		}
	}
}

func readRules(t *testing.T, file string) (r rules) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var metricName = regexp.MustCompile(`[a-z_]*:?shardsh_[a-z0-9_]+(:\w+)?`)

// Queries name metrics that there are: of the exporter, of runs, or recorded.
func TestMetricsOfQueriesExist(t *testing.T) {
	known := map[string]bool{}
	for _, f := range (export.ClusterReading{}).Families(0) {
		known[f.Name] = true
	}
	for _, name := range []string{"targets", "reload_successful", "stale", "last_read_timestamp_seconds", "read_duration_seconds"} {
		known["shardsh_export_"+name] = true
	}
	for _, name := range []string{"moves_total", "bytes_total", "failures_total", "waited_seconds_total", "left_bytes", "left_steps",
		"to_go_seconds"} {
		known["shardsh_run_"+name] = true
	}
	queries := map[string]string{}
	for _, file := range []string{"rules.yaml", "alerts.yaml"} {
		for _, g := range readRules(t, file).Groups {
			for _, r := range g.Rules {
				if r.Record != "" {
					known[r.Record] = true
				}
				queries[r.Alert+r.Record] = r.Expr
			}
		}
	}
	for _, d := range dashboards() {
		for _, p := range d.panels {
			queries[d.name+": "+p.title] = strings.Join(p.queries, " ")
		}
	}
	for of, query := range queries {
		names := metricName.FindAllString(query, -1)
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s asks for %s, which nothing has", of, name)
			}
		}
		if len(names) == 0 {
			t.Errorf("%s asks for no metric: %s", of, query)
		}
	}
}

// Each alert has a runbook that there is, and each code of a finding has one.
func TestRunbooksOfAlerts(t *testing.T) {
	for _, g := range readRules(t, "alerts.yaml").Groups {
		for _, r := range g.Rules {
			for _, d := range diagnosis.Definitions() {
				page, _, _ := strings.Cut(strings.ReplaceAll(r.Annotations["runbook_url"], "{{ $labels.code }}", string(d.Code)), "#")
				if _, err := os.Stat(filepath.Join("..", page)); err != nil || page == "" {
					t.Errorf("%s: %v", r.Alert, err)
				}
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s does not say what it is", r.Alert)
			}
		}
	}
}
