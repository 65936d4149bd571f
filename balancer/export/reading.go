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

// Reading is what is known of a cluster.
type Reading struct {
	// Report is what its check found. Without a Result nothing is known of the cluster.
	Report check.Report
	// Advisories are the known faults that concern it.
	Advisories []advisory.Hit
	// Moves are those that were seen to end.
	Moves *Moves
	// Forecast is until it is balanced; nil is not known.
	Forecast *forecast.Forecast
	// Operations are those a second of each shard; nil is not counted.
	Operations map[catalog.ShardID]heat.Load
}

// metric is a metric of a cluster, with the samples of one that could be read.
type metric struct {
	name, kind, help string
	samples          func(Reading, func(value float64, labels ...string))
}

const (
	gauge   = "gauge"
	counter = "counter"
)

// metrics are those beside the check's.
func metrics() []metric {
	return []metric{
		{"shardsh_balancer_enabled", gauge, "Whether the balancer is switched on.", enabled},
		{"shardsh_balancer_in_round", gauge, "Whether the balancer is in a round now.", inRound},
		{"shardsh_balancer_window_open", gauge, "Whether the balancing window is open, as it is without one.", windowOpen},
		{"shardsh_balancer_failed_rounds", gauge, "How many of the last five rounds failed.", failedRounds},
		{"shardsh_balanced", gauge, "Whether the balancer has nothing left to do.", balanced},
		{"shardsh_collections", gauge, "Sharded collections by state.", collectionStates},
		{"shardsh_findings", gauge, "Findings by code and severity.", findings},
		{"shardsh_advisory", gauge, "A known fault of the servers that concerns the cluster.", advisories},
		{"shardsh_migrations_running", gauge, "Migrations under way.", running},
		{"shardsh_moves_total", counter, "Migrations off a shard that succeeded since the exporter began.",
			moved(func(e ended) float64 { return float64(e.moves) })},
		{"shardsh_moved_bytes_total", counter, "Bytes that those migrations copied.",
			moved(func(e ended) float64 { return float64(e.bytes) })},
		{"shardsh_move_failures_total", counter, "Migrations off a shard that failed since the exporter began.",
			moved(func(e ended) float64 { return float64(e.failures) })},
		{"shardsh_time_to_balance_seconds", gauge, "How long balancing takes at least and at most (90 % range), and likely.",
			timeToBalance},
		{"shardsh_balance_reachable", gauge, "Whether the balancer will get there as things stand.", reachable},
		{"shardsh_balance_left_bytes", gauge, "Bytes that have to move until then.", leftBytes},
		{"shardsh_shard_disk_size_bytes", gauge, "Size of the volume of a shard.",
			disks(func(d catalog.Disk) int64 { return d.Total })},
		{"shardsh_shard_disk_used_bytes", gauge, "What is used of the volume of a shard.",
			disks(func(d catalog.Disk) int64 { return d.Used })},
		{"shardsh_shard_ping_seconds", gauge, "How long a router waits for an answer of a shard's primary.", pings},
		{"shardsh_shard_operations_per_second", gauge, "Operations of sharded collections on a shard.", operations},
		{"shardsh_run_lease_info", gauge, machine.LeaseHelp, lease},
		{"shardsh_run_lease_since_seconds", gauge, machine.LeaseSinceHelp, leaseSince},
		{"shardsh_run_lease_expires_seconds", gauge, machine.LeaseExpiresHelp, leaseExpires},
		{"shardsh_runs_paused", gauge, "Whether somebody has paused all runs of shardsh.", paused},
	}
}

// Families returns all metrics of a cluster, always the same in the same order, with the
// collections that keep does not select summed up.
func (r Reading) Families(collections int) []machine.Family {
	list := machine.Families([]check.Report{r.Report})
	if r.Report.Result != nil {
		list = Bound(list, Worst(r.Report.Result, collections))
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

func enabled(r Reading, sample func(float64, ...string)) {
	if mode := diagnosis.ModeOf(r.Report.Result.Snapshot); mode != "" {
		sample(machine.BoolValue(mode == catalog.ModeFull))
	}
}

func inRound(r Reading, sample func(float64, ...string)) {
	if state := r.Report.Result.Parts().Balancer; state.Mode != "" {
		sample(machine.BoolValue(state.InRound))
	}
}

func windowOpen(r Reading, sample func(float64, ...string)) {
	s := r.Report.Result.Snapshot
	if now := s.Time(); !now.IsZero() {
		opening := s.NextOpening()
		sample(machine.BoolValue(!opening.Never && opening.Latest.Equal(now)))
	}
}

func failedRounds(r Reading, sample func(float64, ...string)) {
	sample(float64(diagnosis.RoundsOf(r.Report.Result.Snapshot).Failed))
}

// balanced has no sample where that is not known.
func balanced(r Reading, sample func(float64, ...string)) {
	unknown, all := false, r.Report.Result.Balanced()
	for _, b := range r.Report.Result.Balances {
		unknown = unknown || !b.Known && b.Hold == diagnosis.NotHeld
		if b.Known && !b.Balanced && b.Hold == diagnosis.NotHeld {
			sample(0)
			return
		}
	}
	if !unknown {
		sample(machine.BoolValue(all))
	}
}

// collectionStates counts each collection once.
func collectionStates(r Reading, sample func(float64, ...string)) {
	states := []string{"balanced", "unbalanced", "disabled", "unknown"}
	count := map[string]int{}
	for _, b := range r.Report.Result.Chosen() {
		count[states[stateOf(b)]]++
	}
	for _, state := range states {
		sample(float64(count[state]), "state", state)
	}
}

// stateOf returns the place of a collection's state among those that there are.
func stateOf(b diagnosis.Balance) int {
	switch {
	case !b.Known:
		return 3
	case b.Balanced:
		return 0
	case b.Hold != diagnosis.NotHeld:
		return 2
	}
	return 1
}

func findings(r Reading, sample func(float64, ...string)) {
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

func advisories(r Reading, sample func(float64, ...string)) {
	for _, h := range r.Advisories {
		sample(1, "advisory", h.ID, "severity", h.Finding().Severity.String())
	}
}

func running(r Reading, sample func(float64, ...string)) {
	sample(float64(len(r.Report.Result.Parts().Migrations)))
}

// moved makes the samples of all shards: a counter that begins with 1 has no rate.
func moved(of func(ended) float64) func(Reading, func(float64, ...string)) {
	return func(r Reading, sample func(float64, ...string)) {
		if r.Moves == nil {
			return
		}
		for _, s := range r.Report.Result.Shards() {
			sample(of(r.Moves.of[s.ID]), "shard", string(s.ID))
		}
	}
}

func timeToBalance(r Reading, sample func(float64, ...string)) {
	if f := r.Forecast; f != nil && !f.Never {
		sample(f.Low.Seconds(), "bound", "low")
		sample(f.Likely.Seconds(), "bound", "likely")
		sample(f.High.Seconds(), "bound", "high")
	}
}

func reachable(r Reading, sample func(float64, ...string)) {
	if r.Forecast != nil {
		sample(machine.BoolValue(!r.Forecast.Never && !r.Forecast.IfOn))
	}
}

func leftBytes(r Reading, sample func(float64, ...string)) {
	if r.Forecast != nil {
		sample(float64(r.Forecast.Bytes))
	}
}

func disks(of func(catalog.Disk) int64) func(Reading, func(float64, ...string)) {
	return func(r Reading, sample func(float64, ...string)) {
		for _, s := range r.Report.Result.Shards() {
			if s.Disk.Known() {
				sample(float64(of(s.Disk)), "shard", string(s.ID))
			}
		}
	}
}

func pings(r Reading, sample func(float64, ...string)) {
	for _, s := range r.Report.Result.Shards() {
		if s.Ping > 0 {
			sample(s.Ping.Seconds(), "shard", string(s.ID))
		}
	}
}

func operations(r Reading, sample func(float64, ...string)) {
	for _, s := range r.Report.Result.Shards() {
		if load, counted := r.Operations[s.ID]; counted {
			sample(load.Reads, "shard", string(s.ID), "kind", "reads")
			sample(load.Writes, "shard", string(s.ID), "kind", "writes")
		}
	}
}

// leased calls of with the lease of a run that goes on.
func leased(r Reading, of func(*catalog.Lease)) {
	if l := r.Report.Result.Parts().Lease; l != nil && l.Running {
		of(l)
	}
}

func lease(r Reading, sample func(float64, ...string)) {
	leased(r, func(l *catalog.Lease) {
		sample(1, "host", l.Host, "pid", strconv.Itoa(l.PID), "doing", l.Doing)
	})
}

func leaseSince(r Reading, sample func(float64, ...string)) {
	leased(r, func(l *catalog.Lease) { sample(unix(l.Since)) })
}

func leaseExpires(r Reading, sample func(float64, ...string)) {
	leased(r, func(l *catalog.Lease) { sample(unix(l.Expires)) })
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func paused(r Reading, sample func(float64, ...string)) {
	p := r.Report.Result.Parts().Pause
	sample(machine.BoolValue(p != nil && p.Active))
}

// The metrics that say whether a cluster answers, and whether it is well: both 0 for one that
// does not.
const (
	Up = "shardsh_check_up"
	OK = "shardsh_check_ok"
)

// Labels are the names of labels that metrics have of their own.
func Labels() []string {
	return []string{"cluster", "ns", "shard", "rule", "status", "severity", "version", "cluster_id", "state", "code",
		"advisory", "bound", "kind", "host", "pid", "doing", "le", "quantile"}
}
