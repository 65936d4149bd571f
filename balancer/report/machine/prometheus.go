package machine

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
)

// metric is a Prometheus metric with a function that emits its samples.
type metric struct {
	name, help string
	samples    func(check.Report, func(value float64, labels ...string))
}

// forResults emits the samples of clusters that could be read.
func forResults(emit func(*check.Result, func(float64, ...string))) func(check.Report, func(float64, ...string)) {
	return func(r check.Report, sample func(float64, ...string)) {
		if r.Result != nil {
			emit(r.Result, sample)
		}
	}
}

func metrics() []metric {
	return []metric{
		{"shardsh_check_up", "Whether the cluster could be read.",
			func(r check.Report, sample func(float64, ...string)) { sample(BoolValue(r.Result != nil)) }},
		{"shardsh_check_ok", "Whether nothing fails and everything could be read.",
			func(r check.Report, sample func(float64, ...string)) { sample(BoolValue(r.Status() == check.Passed)) }},
		{"shardsh_check_time_seconds", "The clock of the cluster, in seconds since 1970.", forResults(clusterTime)},
		{"shardsh_check_info", "The version of the router and the id of the cluster.", forResults(info)},
		{"shardsh_check_rule_status", "1 for the status of the rule, 0 for the others.", forResults(ruleStatuses)},
		{"shardsh_check_rule_findings", "Findings of a rule that fail.", forResults(ruleFindings)},
		{"shardsh_collection_compliant", "Whether a collection is balanced.", forResults(compliant)},
		{"shardsh_collection_balancing", "Whether the balancer may touch a collection.", forResults(balancing)},
		{"shardsh_collection_chunks", "Chunks of a collection on a shard.", forResults(collectionChunks)},
		{
			"shardsh_collection_jumbo_chunks",
			"Chunks of a collection on a shard that are flagged jumbo.",
			forResults(jumboChunks),
		},
		{"shardsh_collection_bytes", "Data of a collection that a shard owns, before compression.",
			perShardSize(func(d catalog.ShardData) int64 { return d.Bytes })},
		{"shardsh_collection_orphan_documents", "Documents of a collection that a shard has and does not own.",
			perShardSize(func(d catalog.ShardData) int64 { return d.Orphans })},
		{"shardsh_collection_deviation_ratio", "How far a shard is from its fair share of a collection, as a part of it.",
			forResults(deviations)},
		{"shardsh_shard_up", "Whether the router has a way to a shard.", forResults(shardsUp)},
		{"shardsh_shard_draining", "Whether a shard is draining.", forResults(shardsDraining)},
	}
}

// Help texts of the lease metrics, which several exporters use.
const (
	LeaseHelp        = "Who holds the lease of the cluster's engine."
	LeaseSinceHelp   = "When the lease was taken, by the cluster's clock."
	LeaseExpiresHelp = "When the lease ends unless it is renewed, by the cluster's clock."
)

// Family is a metric with all of its samples.
type Family struct {
	Name, Kind, Help string // Kind is "gauge" or "counter", for example
	Samples          []Sample
}

// Families returns results of checks as gauges. Every sample has the label cluster, the address of the
// cluster.
func Families(reports []check.Report) (list []Family) {
	for _, m := range metrics() {
		f := Family{Name: m.name, Kind: "gauge", Help: m.help}
		for _, r := range reports {
			m.samples(r, func(value float64, labels ...string) {
				f.Samples = append(f.Samples, Sample{value, append([]string{"cluster", r.Name()}, labels...)})
			})
		}
		list = append(list, f)
	}
	return list
}

// WritePrometheus writes results of checks in the text format of Prometheus.
func WritePrometheus(to io.Writer, reports []check.Report) error {
	for _, f := range Families(reports) {
		if err := f.Write(to); err != nil {
			return err
		}
	}
	return nil
}

// Sample is one value of a metric. Labels holds label names and values alternately.
type Sample struct {
	Value  float64
	Labels []string
}

// WriteMetric writes a metric of a kind such as gauge or counter in the text format of Prometheus. It
// writes nothing without samples.
func WriteMetric(to io.Writer, name, kind, help string, samples []Sample) error {
	return Family{name, kind, help, samples}.Write(to)
}

// Write writes the metric in the text format of Prometheus. It writes nothing without samples.
func (f Family) Write(to io.Writer) error {
	if len(f.Samples) == 0 {
		return nil
	}
	_, err := to.Write(f.AppendSamples([]byte(f.Header(false))))
	return err
}

// Header returns the lines before the samples. In OpenMetrics, the name of a counter lacks the suffix
// of its samples.
func (f Family) Header(openMetrics bool) string {
	name := f.Name
	if openMetrics && f.Kind == "counter" {
		name = strings.TrimSuffix(name, "_total")
	}
	return fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", name, f.Help, name, f.Kind)
}

// AppendSamples appends a line for each sample; the format is the same for Prometheus and OpenMetrics.
func (f Family) AppendSamples(to []byte) []byte {
	for _, s := range f.Samples {
		to = append(to, f.Name...)
		if len(s.Labels) > 0 {
			to = append(append(append(to, '{'), labelText(s.Labels)...), '}')
		}
		to = append(strconv.AppendFloat(append(to, ' '), s.Value, 'g', -1, 64), '\n')
	}
	return to
}

var labelValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// labelText formats alternating names and values.
func labelText(labels []string) string {
	var list []string
	for i := 0; i+1 < len(labels); i += 2 {
		list = append(list, labels[i]+`="`+labelValue.Replace(Sanitize(labels[i+1]))+`"`)
	}
	return strings.Join(list, ",")
}

// BoolValue returns 1 for true and 0 for false.
func BoolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func clusterTime(r *check.Result, sample func(float64, ...string)) {
	if at := r.Time(); !at.IsZero() {
		sample(float64(at.UnixMilli()) / 1000)
	}
}

func info(r *check.Result, sample func(float64, ...string)) {
	sample(1, "version", r.Parts().Version, "cluster_id", r.Parts().ClusterID.Hex())
}

func ruleStatuses(r *check.Result, sample func(float64, ...string)) {
	for _, c := range r.Policy.Choices {
		for _, status := range []check.Status{check.Passed, check.Failed, check.Unknown} {
			if c.On {
				sample(BoolValue(r.RuleStatus(c.Name) == status), "rule", c.Name, "status", string(status))
			}
		}
	}
}

func ruleFindings(r *check.Result, sample func(float64, ...string)) {
	failing := map[string]int{}
	for _, f := range r.FailingFindings() {
		failing[f.Rule]++
	}
	for _, c := range r.Policy.Choices {
		if c.On {
			sample(float64(failing[c.Name]), "rule", c.Name, "severity", c.Severity.String())
		}
	}
}

func compliant(r *check.Result, sample func(float64, ...string)) {
	for _, b := range r.CoveredBalances() {
		if b.Known {
			sample(BoolValue(b.Balanced), "ns", b.Namespace)
		}
	}
}

func balancing(r *check.Result, sample func(float64, ...string)) {
	for _, b := range r.CoveredBalances() {
		sample(BoolValue(b.DisabledBy == diagnosis.NotDisabled), "ns", b.Namespace)
	}
}

// perShard emits a sample for each collection and each shard with chunks of the collection.
func perShard(
	r *check.Result, sample func(float64, ...string), of func(*catalog.CollectionState, catalog.ShardID) float64,
) {
	for _, b := range r.CoveredBalances() {
		c := r.Collection(b.Namespace)
		for _, id := range c.Owners() {
			sample(of(c, id), "ns", b.Namespace, "shard", string(id))
		}
	}
}

func collectionChunks(r *check.Result, sample func(float64, ...string)) {
	perShard(r, sample,
		func(c *catalog.CollectionState, id catalog.ShardID) float64 { return float64(c.CountOn(id).Chunks) })
}

func jumboChunks(r *check.Result, sample func(float64, ...string)) {
	perShard(r, sample,
		func(c *catalog.CollectionState, id catalog.ShardID) float64 { return float64(c.CountOn(id).Jumbo) })
}

// perShardSize emits a sample for the data of each collection on each shard.
func perShardSize(size func(catalog.ShardData) int64) func(check.Report, func(float64, ...string)) {
	return forResults(func(r *check.Result, sample func(float64, ...string)) {
		for _, b := range r.CoveredBalances() {
			c := r.Collection(b.Namespace)
			for _, s := range r.Shards() {
				if data, told := c.Sizes[s.ID]; told {
					sample(float64(size(data)), "ns", b.Namespace, "shard", string(s.ID))
				}
			}
		}
	})
}

func deviations(r *check.Result, sample func(float64, ...string)) {
	for _, b := range r.CoveredBalances() {
		for _, d := range check.Deviations(r.Snapshot, r.Collection(b.Namespace)) {
			sample(d.ExcessPercent/100, "ns", b.Namespace, "shard", string(d.Shard))
		}
	}
}

func shardsUp(r *check.Result, sample func(float64, ...string)) {
	for _, s := range r.Shards() {
		sample(BoolValue(s.Unreachable == ""), "shard", string(s.ID))
	}
}

func shardsDraining(r *check.Result, sample func(float64, ...string)) {
	for _, s := range r.Shards() {
		sample(BoolValue(s.Draining), "shard", string(s.ID))
	}
}
