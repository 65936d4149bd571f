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

// The quantities, in seconds, shares of one, and numbers.
const (
	Lag         Quantity = "lag"    // how far a secondary is behind its primary
	Oplog       Quantity = "oplog"  // how long the oplog reaches back
	Queue       Quantity = "queue"  // operations that wait for a lock or a ticket
	Active      Quantity = "active" // clients with an operation under way
	Connections Quantity = "connections"
	Cache       Quantity = "cache" // how full the storage engine's is
	Dirty       Quantity = "dirty" // how much of the cache is not written yet
	CPU         Quantity = "cpu"   // how busy, of all cores

	MajorityLag Quantity = "majority-lag" // how far the majority's commit point is behind the primary
	Disk        Quantity = "disk"         // how full the volume of the primary is
	Deletions   Quantity = "deletions"    // ranges that are to be deleted
	Orphans     Quantity = "orphans"      // documents in them
)

// ConfigPrefix is the prefix of the quantities of config servers.
const ConfigPrefix = "config."

// WithoutConfig returns a quantity without ConfigPrefix, and whether it had that.
func (q Quantity) WithoutConfig() (bare Quantity, config bool) {
	name, config := strings.CutPrefix(string(q), ConfigPrefix)
	return Quantity(name), config
}

// unit is how a quantity is written.
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

// unitOf returns the unit of a quantity, and whether there is one with that name.
func unitOf(q Quantity) (unit, bool) {
	bare, _ := q.WithoutConfig()
	u, known := quantityUnits()[bare]
	return u, known
}

// unitExample says how values of a unit are written.
func unitExample(u unit) string {
	return [...]string{"a number, such as 50", "a time, such as 10s, 500ms, 2m or 24h", "a share, such as 0.8 or 80%"}[u]
}

// parseValue reads a value of a quantity.
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

// format writes a value of a quantity.
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

// Reading has the quantities that one member reports.
type Reading struct {
	Member string // such as "shard2/host:27018"
	// Values are those of the config servers with ConfigPrefix before them.
	Values map[Quantity]float64
}

// ParseShare reads a share: "85%" or 0.85.
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
