package action

import (
	"io"
	"net/http"
	"strings"
	"time"

	"shardsh/balancer/export"
	"shardsh/balancer/report/machine"
)

// The content types of pages.
const (
	plainMetrics = "text/plain; version=0.0.4; charset=utf-8"
	openMetrics  = "application/openmetrics-text; version=1.0.0; charset=utf-8"
)

// exportState is the state of a cluster for a page.
type exportState struct {
	labels          []string // cluster, and the labels of its target
	lines           [][]byte // nil if the values are stale
	up              bool
	readAt          time.Time
	attemptTook     time.Duration
	reads, failures int
	stale           bool
}

// Handler handles /metrics, and /healthz, which always answers ok.
func (e *Exporter) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		open := strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text")
		w.Header().Set("Content-Type", map[bool]string{true: openMetrics, false: plainMetrics}[open])
		_ = e.Write(w, open) // the client has disconnected
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return mux
}

// Write writes the latest values in the text format of Prometheus or of OpenMetrics. It waits for no
// cluster.
func (e *Exporter) Write(to io.Writer, asOpenMetrics bool) error {
	clusters, reloaded := e.states()
	page := make([]byte, 0, 64<<10)
	for i, f := range e.families {
		begun := false
		for _, c := range clusters {
			lines := c.linesFor(i, f)
			if len(lines) > 0 && !begun {
				page, begun = append(page, f.Header(asOpenMetrics)...), true
			}
			page = append(page, lines...)
		}
		if _, err := to.Write(page); err != nil {
			return err
		}
		page = page[:0]
	}
	for _, f := range ownFamilies(clusters, reloaded) {
		if len(f.Samples) > 0 {
			page = f.AppendSamples(append(page, f.Header(asOpenMetrics)...))
		}
	}
	if asOpenMetrics {
		page = append(page, "# EOF\n"...)
	}
	_, err := to.Write(page)
	return err
}

// states returns the latest state of each cluster.
func (e *Exporter) states() (list []exportState, reloaded bool) {
	e.mu.Lock()
	clusters := e.clusters
	reloaded = e.lastReloadOK
	e.mu.Unlock()
	now := e.Clock.Now()
	for _, c := range clusters {
		list = append(list, c.state(now))
	}
	return list, reloaded
}

func (e *exportTarget) state(now time.Time) exportState {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := exportState{labels: append([]string{"cluster", e.target.Name}, e.target.Labels...), up: e.up &&
		!e.readAt.IsZero(),
		readAt: e.readAt, attemptTook: e.attemptTook, reads: e.reads, failures: e.failures}
	s.stale = e.readAt.IsZero() || now.Sub(e.readAt) > max(e.StaleAfter, staleReadFactor*e.readTook)
	if s.stale {
		s.up = false
	} else {
		s.lines = e.lines
	}
	return s
}

// linesFor returns the lines of a family. The metrics that say whether a cluster answers are more
// recent than the other values; they are not known before the end of the first read.
func (e exportState) linesFor(i int, f machine.Family) []byte {
	if e.reads > 0 && !e.up && (f.Name == export.UpMetric || f.Name == export.OKMetric) {
		return machine.Family{Name: f.Name, Samples: []machine.Sample{{Value: 0, Labels: e.labels}}}.AppendSamples(nil)
	}
	if e.lines == nil {
		return nil
	}
	return e.lines[i]
}

// ownFamilies returns the metrics of the exporter itself.
func ownFamilies(clusters []exportState, reloaded bool) []machine.Family {
	list := []machine.Family{
		family("shardsh_export_targets", "gauge", "Clusters that are read.",
			machine.Sample{Value: float64(len(clusters))}),
		family("shardsh_export_reload_successful", "gauge", "Whether the file of targets could be read when it changed last.",
			machine.Sample{Value: machine.BoolValue(reloaded)}),
	}
	for _, of := range []struct {
		machine.Family
		value func(exportState) (float64, bool)
	}{
		{family("shardsh_export_stale", "gauge", "1 if the last successful read is older than the staleness limit."),
			func(c exportState) (float64, bool) { return machine.BoolValue(c.stale), true }},
		{family("shardsh_export_last_read_timestamp_seconds", "gauge", "When a cluster was read last, seconds since 1970."),
			func(c exportState) (float64, bool) { return float64(c.readAt.UnixMilli()) / 1000, !c.readAt.IsZero() }},
		{family("shardsh_export_read_duration_seconds", "gauge", "How long the last read of a cluster took."),
			func(c exportState) (float64, bool) { return c.attemptTook.Seconds(), c.reads > 0 }},
		{family("shardsh_export_reads_total", "counter", "Reads of a cluster."),
			func(c exportState) (float64, bool) { return float64(c.reads), true }},
		{family("shardsh_export_read_failures_total", "counter", "Reads of a cluster that failed."),
			func(c exportState) (float64, bool) { return float64(c.failures), true }},
	} {
		for _, c := range clusters {
			if value, known := of.value(c); known {
				of.Samples = append(of.Samples, machine.Sample{Value: value, Labels: c.labels})
			}
		}
		list = append(list, of.Family)
	}
	return list
}

func family(name, kind, help string, samples ...machine.Sample) machine.Family {
	return machine.Family{Name: name, Kind: kind, Help: help, Samples: samples}
}
