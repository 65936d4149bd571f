package export

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"shardsh/balancer/advisory"
	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/heat"
	"shardsh/balancer/report/machine"
)

// ClusterReading is what one scrape reads of a cluster.
type ClusterReading struct {
	// Report is the result of the cluster's check. A Report without a Result means that the cluster
	// could not be read.
	Report check.Report
	// Advisories are the known bugs that concern the cluster.
	Advisories []advisory.Hit
	// Moves counts the ended migrations.
	Moves *MoveCounter
	// Forecast is the forecast until the cluster is balanced; nil means unknown.
	Forecast *forecast.Forecast
	// Operations is the number of operations a second on each shard; nil means that they were not
	// counted.
	Operations map[catalog.ShardID]heat.Load
}

// metric is a metric of a cluster, with a function that emits its samples.
type metric struct {
	name, kind, help string
	samples          func(ClusterReading, func(value float64, labels ...string))
}

const (
	gauge   = "gauge"
	counter = "counter"
)

// metrics returns the metrics that package check does not define.
func metrics() []metric {
	return []metric{
		{"shardsh_balancer_enabled", gauge, "Whether the balancer is switched on.", sampleEnabled},
		{"shardsh_balancer_in_round", gauge, "Whether the balancer is in a round now.", sampleInRound},
		{
			"shardsh_balancer_window_open",
			gauge,
			"Whether the balancing window is open, as it is without one.",
			sampleWindowOpen,
		},
		{"shardsh_balancer_failed_rounds", gauge, "How many of the last five rounds failed.", sampleFailedRounds},
		{"shardsh_balanced", gauge, "Whether the balancer has nothing left to do.", sampleBalanced},
		{"shardsh_collections", gauge, "Sharded collections by state.", sampleCollectionStates},
		{"shardsh_findings", gauge, "Findings by code and severity.", sampleFindings},
		{"shardsh_advisory", gauge, "A known fault of the servers that concerns the cluster.", sampleAdvisories},
		{"shardsh_migrations_running", gauge, "Migrations under way.", sampleRunningMigrations},
		{"shardsh_moves_total", counter, "Migrations off a shard that succeeded since the exporter began.",
			sampleMoves(func(e donorCounts) float64 { return float64(e.moves) })},
		{"shardsh_moved_bytes_total", counter, "Bytes that those migrations copied.",
			sampleMoves(func(e donorCounts) float64 { return float64(e.bytes) })},
		{"shardsh_move_failures_total", counter, "Migrations off a shard that failed since the exporter began.",
			sampleMoves(func(e donorCounts) float64 { return float64(e.failures) })},
		{"shardsh_time_to_balance_seconds", gauge, "How long balancing takes at least and at most (90 % range), and likely.",
			sampleTimeToBalance},
		{"shardsh_balance_reachable", gauge, "Whether the balancer will reach balance as things stand.",
			sampleBalanceReachable},
		{"shardsh_balance_left_bytes", gauge, "Bytes that have to move until then.", sampleLeftBytes},
		{"shardsh_shard_disk_size_bytes", gauge, "Size of the volume of a shard.",
			sampleDisks(func(d catalog.Disk) int64 { return d.Total })},
		{"shardsh_shard_disk_used_bytes", gauge, "The used bytes of the volume of a shard.",
			sampleDisks(func(d catalog.Disk) int64 { return d.Used })},
		{"shardsh_shard_ping_seconds", gauge, "How long a router waits for an answer of a shard's primary.", samplePings},
		{"shardsh_shard_operations_per_second", gauge, "Operations of sharded collections on a shard.", sampleOperations},
		{"shardsh_run_lease_info", gauge, machine.LeaseHelp, sampleLease},
		{"shardsh_run_lease_since_seconds", gauge, machine.LeaseSinceHelp, sampleLeaseSince},
		{"shardsh_run_lease_expires_seconds", gauge, machine.LeaseExpiresHelp, sampleLeaseExpires},
		{"shardsh_runs_paused", gauge, "Whether all runs of shardsh are paused.", sampleRunsPaused},
	}
}

// Families returns all metrics of a cluster, always in the same order. Only the worst collections have
// their own series; the others are summed.
func (r ClusterReading) Families(maxCollections int) []machine.Family {
	list := machine.Families([]check.Report{r.Report})
	if r.Report.Result != nil {
		list = SumUpOthers(list, WorstCollections(r.Report.Result, maxCollections))
	}
	for _, m := range metrics() {
		f := machine.Family{Name: m.name, Kind: m.kind, Help: m.help}
		if r.Report.Result != nil {
			m.samples(r, func(value float64, labels ...string) {
				f.Samples = append(f.Samples, machine.Sample{
					Value: value, Labels: append([]string{"cluster", r.Report.Address}, labels...),
				})
			})
		}
		list = append(list, f)
	}
	return list
}

func sampleEnabled(r ClusterReading, sample func(float64, ...string)) {
	if mode := diagnosis.ModeOf(r.Report.Result.Snapshot); mode != "" {
		sample(machine.BoolValue(mode == catalog.ModeFull))
	}
}

func sampleInRound(r ClusterReading, sample func(float64, ...string)) {
	if state := r.Report.Result.Parts().Balancer; state.Mode != "" {
		sample(machine.BoolValue(state.InRound))
	}
}

func sampleWindowOpen(r ClusterReading, sample func(float64, ...string)) {
	s := r.Report.Result.Snapshot
	if now := s.Time(); !now.IsZero() {
		opening := s.NextOpening()
		sample(machine.BoolValue(!opening.Never && opening.Latest.Equal(now)))
	}
}

func sampleFailedRounds(r ClusterReading, sample func(float64, ...string)) {
	sample(float64(diagnosis.RoundsOf(r.Report.Result.Snapshot).Failed))
}

// sampleBalanced emits no sample if the state is unknown.
func sampleBalanced(r ClusterReading, sample func(float64, ...string)) {
	unknown, all := false, r.Report.Result.IsBalanced()
	for _, b := range r.Report.Result.Balances {
		unknown = unknown || !b.Known && b.DisabledBy == diagnosis.NotDisabled
		if b.Known && !b.Balanced && b.DisabledBy == diagnosis.NotDisabled {
			sample(0)
			return
		}
	}
	if !unknown {
		sample(machine.BoolValue(all))
	}
}

// sampleCollectionStates counts each collection once.
func sampleCollectionStates(r ClusterReading, sample func(float64, ...string)) {
	count := map[string]int{}
	for _, b := range r.Report.Result.CoveredBalances() {
		count[stateOf(b)]++
	}
	for _, state := range []string{"balanced", "unbalanced", "disabled", "unknown"} {
		sample(float64(count[state]), "state", state)
	}
}

// stateOf returns the state of a collection.
func stateOf(b diagnosis.Balance) string {
	switch {
	case !b.Known:
		return "unknown"
	case b.Balanced:
		return "balanced"
	case b.DisabledBy != diagnosis.NotDisabled:
		return "disabled"
	}
	return "unbalanced"
}

func sampleFindings(r ClusterReading, sample func(float64, ...string)) {
	type kind struct {
		code     diagnosis.Code
		severity diagnosis.Severity
	}
	var order []kind
	count := map[kind]int{}
	for _, f := range r.Report.Result.Diagnosis.Findings {
		k := kind{f.Code, f.Severity}
		if count[k]++; count[k] == 1 {
			order = append(order, k)
		}
	}
	slices.SortFunc(order, func(a, b kind) int {
		return cmp.Or(cmp.Compare(b.severity, a.severity), cmp.Compare(a.code, b.code))
	})
	for _, k := range order {
		sample(float64(count[k]), "code", string(k.code), "severity", k.severity.String())
	}
}

func sampleAdvisories(r ClusterReading, sample func(float64, ...string)) {
	for _, h := range r.Advisories {
		sample(1, "advisory", h.ID, "severity", h.Finding().Severity.String())
	}
}

func sampleRunningMigrations(r ClusterReading, sample func(float64, ...string)) {
	sample(float64(len(r.Report.Result.Parts().Migrations)))
}

// sampleMoves emits a sample for every shard, even if it is 0: Prometheus computes no rate for a
// counter that begins at 1.
func sampleMoves(of func(donorCounts) float64) func(ClusterReading, func(float64, ...string)) {
	return func(r ClusterReading, sample func(float64, ...string)) {
		if r.Moves == nil {
			return
		}
		for _, s := range r.Report.Result.Shards() {
			sample(of(r.Moves.byDonor[s.ID]), "shard", string(s.ID))
		}
	}
}

func sampleTimeToBalance(r ClusterReading, sample func(float64, ...string)) {
	if f := r.Forecast; f != nil && !f.Never {
		sample(f.Low.Seconds(), "bound", "low")
		sample(f.Likely.Seconds(), "bound", "likely")
		sample(f.High.Seconds(), "bound", "high")
	}
}

func sampleBalanceReachable(r ClusterReading, sample func(float64, ...string)) {
	if r.Forecast != nil {
		sample(machine.BoolValue(!r.Forecast.Never && !r.Forecast.AssumesBalancerOn))
	}
}

func sampleLeftBytes(r ClusterReading, sample func(float64, ...string)) {
	if r.Forecast != nil {
		sample(float64(r.Forecast.Bytes))
	}
}

func sampleDisks(of func(catalog.Disk) int64) func(ClusterReading, func(float64, ...string)) {
	return func(r ClusterReading, sample func(float64, ...string)) {
		for _, s := range r.Report.Result.Shards() {
			if s.Disk.Known() {
				sample(float64(of(s.Disk)), "shard", string(s.ID))
			}
		}
	}
}

func samplePings(r ClusterReading, sample func(float64, ...string)) {
	for _, s := range r.Report.Result.Shards() {
		if s.Ping > 0 {
			sample(s.Ping.Seconds(), "shard", string(s.ID))
		}
	}
}

func sampleOperations(r ClusterReading, sample func(float64, ...string)) {
	for _, s := range r.Report.Result.Shards() {
		if load, counted := r.Operations[s.ID]; counted {
			sample(load.Reads, "shard", string(s.ID), "kind", "reads")
			sample(load.Writes, "shard", string(s.ID), "kind", "writes")
		}
	}
}

// withRunningLease calls a function with the lease if its run is still running.
func withRunningLease(r ClusterReading, of func(*catalog.Lease)) {
	if l := r.Report.Result.Parts().Lease; l != nil && l.Running {
		of(l)
	}
}

func sampleLease(r ClusterReading, sample func(float64, ...string)) {
	withRunningLease(r, func(l *catalog.Lease) {
		sample(1, "host", l.Host, "pid", strconv.Itoa(l.PID), "doing", l.Doing)
	})
}

func sampleLeaseSince(r ClusterReading, sample func(float64, ...string)) {
	withRunningLease(r, func(l *catalog.Lease) { sample(unixSeconds(l.Since)) })
}

func sampleLeaseExpires(r ClusterReading, sample func(float64, ...string)) {
	withRunningLease(r, func(l *catalog.Lease) { sample(unixSeconds(l.Expires)) })
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func sampleRunsPaused(r ClusterReading, sample func(float64, ...string)) {
	p := r.Report.Result.Parts().RunsPause
	sample(machine.BoolValue(p != nil && p.Active))
}

// The metrics that say whether a cluster answers, and whether its check passes. Both are 0 for a
// cluster that does not answer.
const (
	UpMetric = "shardsh_check_up"
	OKMetric = "shardsh_check_ok"
)

// LabelNames returns the names of the labels that metrics use.
func LabelNames() []string {
	return []string{"cluster", "ns", "shard", "rule", "status", "severity", "version", "cluster_id", "state", "code",
		"advisory", "bound", "kind", "host", "pid", "doing", "le", "quantile"}
}
