package pace

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/balancer/timespan"
)

// Quantity is a metric that members report.
type Quantity string

// These are the quantities, as seconds, fractions or numbers.
const (
	Lag         Quantity = "lag"    // time by which a secondary is behind its primary
	Oplog       Quantity = "oplog"  // time that the oplog covers
	Queue       Quantity = "queue"  // operations that wait for a lock or a ticket
	Active      Quantity = "active" // clients with an operation in progress
	Connections Quantity = "connections"
	Cache       Quantity = "cache" // fraction of the storage engine's cache in use
	Dirty       Quantity = "dirty" // fraction of the cache that is dirty
	CPU         Quantity = "cpu"   // fraction of all cores in use

	MajorityLag Quantity = "majority-lag" // time by which the majority commit point is behind the primary
	Disk        Quantity = "disk"         // fraction of the primary's volume in use
	Deletions   Quantity = "deletions"    // ranges that wait for deletion
	Orphans     Quantity = "orphans"      // documents in these ranges
)

// ConfigPrefix is the prefix of the quantities of config servers.
const ConfigPrefix = "config."

// WithoutConfig returns a quantity without ConfigPrefix, and whether it had the prefix.
func (q Quantity) WithoutConfig() (bare Quantity, hadPrefix bool) {
	name, hadPrefix := strings.CutPrefix(string(q), ConfigPrefix)
	return Quantity(name), hadPrefix
}

// unit says how values of a quantity are written.
type unit int

const (
	number unit = iota
	seconds
	share
)

func quantityUnits() map[Quantity]unit {
	return map[Quantity]unit{
		Lag: seconds, Oplog: seconds, Queue: number, Active: number, Connections: number,
		Cache: share, Dirty: share, CPU: share,
		MajorityLag: seconds, Disk: share, Deletions: number, Orphans: number,
	}
}

// unitOf returns the unit of a quantity, and whether the quantity exists.
func unitOf(q Quantity) (unit, bool) {
	bare, _ := q.WithoutConfig()
	u, known := quantityUnits()[bare]
	return u, known
}

// unitExample describes how values of a unit are written.
func unitExample(u unit) string {
	return [...]string{"a number, such as 50", "a time, such as 10s, 500ms, 2m or 24h", "a share, such as 0.8 or 80%"}[u]
}

// parseValue parses a value of a quantity.
func parseValue(q Quantity, text string) (float64, error) {
	u, _ := unitOf(q)
	var value float64
	var err error
	switch {
	case u == seconds:
		var d time.Duration
		d, err = timespan.ParseCommandLine(text)
		value = d.Seconds()
	case u == share && strings.HasSuffix(text, "%"):
		value, err = strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		value /= 100
	default:
		value, err = strconv.ParseFloat(text, 64)
	}
	if err != nil || !(value >= 0 && value <= 1e15) || u == share && value > 1 {
		return 0, fmt.Errorf("%q is not a valid %s: use %s", text, q, unitExample(u))
	}
	return value, nil
}

// format formats a value of a quantity.
func (q Quantity) format(value float64) string {
	u, _ := unitOf(q)
	switch u {
	case seconds:
		return humanize.Duration(time.Duration(value * float64(time.Second)))
	case share:
		return humanize.Percent(value)
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// Reading contains the quantities that one member reports.
type Reading struct {
	Member string // such as "shard2/host:27018"
	// Values are the values by quantity. Quantities of config servers have the prefix ConfigPrefix.
	Values map[Quantity]float64
}

// ParseShare parses a fraction: "85%" or 0.85.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("%q is not a share such as 85%% or 0.85", text)
	}
	return share, nil
}
