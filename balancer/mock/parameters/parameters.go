// Package parameters implements the server parameters of the mock's nodes.
package parameters

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// parameter is one server parameter (rules/03-commands §1.10).
type parameter struct {
	value        int64
	least        int64
	most         int64
	isBool       bool
	atStart      bool   // settable only at startup
	orZero       bool   // zero is allowed in addition to least..most
	rangeMessage string // message of InvalidOptions for a value out of range; empty for the usual BadValue
}

// RandomMigrations is the parameter name of the server's fail point. It is a bool in the mock.
const RandomMigrations = "failpoint.balancerShouldReturnRandomMigrations"

// Set holds the server parameters of all nodes of the mock. They belong to the config server and the
// shards; a mongos does not have them (error 72). Set is safe for concurrent use.
type Set struct {
	mu     sync.RWMutex
	byName map[string]*parameter
}

// New returns the parameters with the defaults of a release.
func New(r catalog.Release) *Set {
	number := func(value, least int64) *parameter {
		return &parameter{value: value, least: least, most: math.MaxInt32}
	}
	flag := func(on, atStart bool) *parameter {
		p := &parameter{isBool: true, atStart: atStart, most: 1}
		if on {
			p.value = 1
		}
		return p
	}
	set := &Set{byName: map[string]*parameter{
		"balancerMigrationsThrottlingMs":      number(1000, -math.MaxInt32),
		"balancerChunksSelectionTimeoutMs":    number(5000, -math.MaxInt32),
		"chunkDefragmentationThrottlingMS":    number(1000, 0),
		"autoMergerIntervalSecs":              number(3600, -math.MaxInt32),
		"autoMergerThrottlingMS":              number(15000, 0),
		"autoMergerMaxTimeProcessingChunksMS": number(500, -math.MaxInt32),
		"minNumChunksForSessionsCollection":   {value: 1024, least: 1, most: 1000000},
		"chunkMigrationConcurrency": {value: 1, least: 1, most: 500,
			rangeMessage: "Chunk migration concurrency level must be positive and less than 500."},
		"rangeDeleterBatchSize":                    number(math.MaxInt32, 0),
		"rangeDeleterBatchDelayMS":                 number(20, 0),
		"rangeDeleterHighPriority":                 flag(false, false),
		"disableResumableRangeDeleter":             flag(false, true),
		"ttlMonitorEnabled":                        flag(true, false),
		"ttlMonitorSleepSecs":                      number(60, 1),
		"orphanCleanupDelaySecs":                   number(int64(r.CleanupDelay().Seconds()), math.MinInt32),
		"receiveChunkWaitForRangeDeleterTimeoutMS": number(10000, 0),
		"migrateCloneInsertionBatchSize":           number(0, 0),
		"migrateCloneInsertionBatchDelayMS":        number(0, 0),
		"defaultConfigCommandTimeoutMS":            number(30000, 0),
		// 0, or at least the maximum document size with some reserve.
		"chunkMigrationFetcherMaxBufferedSizeBytesPerThread": {value: 67174400, least: 16793600, most: math.MaxInt32,
			orZero: true, rangeMessage: "Chunk migration concurrency level must be 0 (no limit) or greater than or equal to " +
				"16793600."},
		"migrationLockAcquisitionMaxWaitMS":        number(500, 0),
		"maxCatchUpPercentageBeforeBlockingWrites": {value: 10, least: 0, most: 100},
		"minSnapshotHistoryWindowInSeconds":        number(300, 0),
		"transactionLifetimeLimitSeconds":          number(60, 1),
		"reshardingMinimumOperationDurationMillis": number(300000, 0),
		"enableTestCommands":                       flag(false, true),
		RandomMigrations:                           flag(false, false),
	}}
	if r.EndsReadsOfOrphans() {
		set.byName["terminateSecondaryReadsOnOrphanCleanup"] = flag(true, false)
		set.byName["enableQueryKilledByRangeDeletionLog"] = flag(true, false)
	}
	if r.FindsMaxKeyZones() {
		set.byName["maxKeyZoneScanEnabled"] = flag(true, false)
	}
	return set
}

// Names returns the sorted names of the parameters.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// Values returns all parameters sorted by name.
func (s *Set) Values() bson.D {
	values := bson.D{}
	for _, name := range s.Names() {
		values = append(values, bson.E{Key: name, Value: s.Int(name)})
	}
	return values
}

// Restore restores stored values. It ignores parameters that no longer exist.
func (s *Set) Restore(values bson.Raw) error {
	elems, err := values.Elements()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range elems {
		if known := s.byName[e.Key()]; known != nil {
			known.value, _ = e.Value().AsInt64OK()
		}
	}
	return err
}

// SetAtStart sets a parameter before the cluster starts. The value is a number, a bool, or a string from
// the command line.
func (s *Set) SetAtStart(name string, value any) error {
	if s.byName[name] == nil {
		return fmt.Errorf("unknown server parameter %q", name)
	}
	if err := s.assign(name, value); err != nil {
		return fmt.Errorf("server parameter %s: %w", name, err)
	}
	return nil
}

// assign sets an existing parameter.
func (s *Set) assign(name string, value any) error {
	known := s.byName[name]
	n, err := known.parse(name, value)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known.value = n
	return nil
}

// Set changes a parameter at run time and returns its previous value. It fails with InvalidOptions for
// an unknown name, with IllegalOperation for a parameter that is settable only at startup, and with
// BadValue for an invalid value.
func (s *Set) Set(name string, value any) (was any, err error) {
	was, runtime, known := s.Value(name)
	switch {
	case !known:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Unrecognized parameter: %s", name)
	case !runtime:
		return nil, mongoerr.New(mongoerr.IllegalOperation, "not allowed to change [%s] at runtime", name)
	}
	return was, s.assign(name, value)
}

// Value returns a parameter as a server returns it, as a bool or an int32, and whether it can be set at
// run time.
func (s *Set) Value(name string) (value any, runtime, known bool) {
	one := s.byName[name]
	if one == nil {
		return nil, false, false
	}
	n := s.Int(name)
	if one.isBool {
		return n != 0, !one.atStart, true
	}
	return int32(n), !one.atStart, true
}

func (p *parameter) parse(name string, value any) (int64, error) {
	var n int64
	switch v := value.(type) {
	case bool:
		if v {
			n = 1
		}
	case int:
		n = int64(v)
	case int32:
		n = int64(v)
	case int64:
		n = v
	case float64:
		n = int64(v)
	case string:
		return p.parseText(name, v)
	default:
		return 0, mongoerr.New(mongoerr.BadValue, "%v is not a number", value)
	}
	switch {
	case n >= p.least && n <= p.most || n == 0 && p.orZero:
		return n, nil
	case p.rangeMessage != "":
		return 0, mongoerr.New(mongoerr.InvalidOptions, "%s", p.rangeMessage)
	case n < p.least:
		return 0, outOfBoundsError(name, n, "greater", p.least)
	}
	return 0, outOfBoundsError(name, n, "less", p.most)
}

func outOfBoundsError(name string, n int64, than string, bound int64) error {
	return mongoerr.New(mongoerr.BadValue, "Invalid value for parameter %s: %d is not %s than or equal to %d", name, n,
		than, bound)
}

func (p *parameter) parseText(name, text string) (int64, error) {
	if b, err := strconv.ParseBool(text); err == nil && p.isBool {
		return p.parse(name, b)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, mongoerr.New(mongoerr.BadValue, "%q is not a number", text)
	}
	return p.parse(name, n)
}

// Int returns a parameter's value; bools are 0 or 1. The name must exist.
func (s *Set) Int(name string) int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byName[name].value
}

// Milliseconds returns a parameter in milliseconds as a duration.
func (s *Set) Milliseconds(name string) time.Duration {
	return time.Duration(s.Int(name)) * time.Millisecond
}

// Seconds returns a parameter in seconds as a duration.
func (s *Set) Seconds(name string) time.Duration {
	return time.Duration(s.Int(name)) * time.Second
}
