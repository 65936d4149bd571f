package mock

import (
	"cmp"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// ClusterParameters are the parameters and defaults that setClusterParameter and setDefaultRWConcern set
// for the whole cluster.
type ClusterParameters struct {
	*clusterSettings
	clock       *clock.Clock
	config      *ConfigDB
	ids         *ids.Source
	log         *configLogs
	migrations  *Migrations
	reshardings *Reshardings
	fcvChange   *fcvChange // in progress; nil for none
}

// ClusterParameters returns the parameters of the cluster.
func (c *Cluster) ClusterParameters() *ClusterParameters { return c.clusterParameters }

// configParameters is the collection of the cluster parameters that were set.
const configParameters = "clusterParameters"

// Cluster parameters (rules/03-commands §1.10).
const (
	parameterHasTwoShards = "shardedClusterCardinalityForDirectConns"
	parameterShardsChange = "addOrRemoveShardInProgress"
	parameterMaxTime      = "defaultMaxTimeMS"
)

// clusterParameter is a cluster parameter, which has a single field.
type clusterParameter struct {
	name, field  string
	defaultValue any // bool or int64
}

func clusterParameters() []clusterParameter {
	return []clusterParameter{
		{parameterShardsChange, "inProgress", false},
		{parameterMaxTime, "readOperations", int64(0)},
		{parameterHasTwoShards, "hasTwoOrMoreShards", false},
	}
}

// Names returns the sorted names of the cluster parameters. They exist since 8.0.
func (cp *ClusterParameters) Names() []string {
	if !cp.release.FCVAtLeast(catalog.Release80) {
		return nil
	}
	var names []string
	for _, p := range clusterParameters() {
		names = append(names, p.name)
	}
	return names
}

func (cp *ClusterParameters) find(name string) (clusterParameter, bool) {
	if cp.release.FCVAtLeast(catalog.Release80) {
		for _, p := range clusterParameters() {
			if p.name == name {
				return p, true
			}
		}
	}
	return clusterParameter{}, false
}

// Get returns the reply of getClusterParameter, with the default if the parameter was never set. It
// fails with NoSuchKey for an unknown name.
func (cp *ClusterParameters) Get(name string) (bson.D, error) {
	p, known := cp.find(name)
	if !known {
		return nil, mongoerr.New(mongoerr.NoSuchKey, "Unknown server parameter: %s", name)
	}
	raw, set := cp.config.doc(configParameters, name)
	if !set {
		return bson.D{{Key: "_id", Value: name}, {Key: p.field, Value: p.defaultValue}}, nil
	}
	var doc bson.D
	err := bson.Unmarshal(raw, &doc)
	return doc, err
}

// Set sets a cluster parameter. It fails with InvalidOptions for an unknown name, and with the errors of
// command fields for an invalid value.
func (cp *ClusterParameters) Set(name string, value bson.Raw) error {
	p, known := cp.find(name)
	if !known {
		return mongoerr.New(mongoerr.InvalidOptions, "unknown cluster parameter %s", name)
	}
	to, err := p.parse(value)
	if err != nil {
		return err
	}
	return cp.setParameter(p, to)
}

// parse reads the parameter's only field. It returns the default if the field is missing.
func (p clusterParameter) parse(value bson.Raw) (any, error) {
	elems, err := value.Elements()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	to := p.defaultValue
	for _, e := range elems {
		if e.Key() != p.field {
			return nil, mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", p.name, e.Key())
		}
		if to, err = p.parseField(e.Value()); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func (p clusterParameter) parseField(v bson.RawValue) (any, error) {
	mismatch := func(expected string) error {
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected %s", p.name, p.field,
			v.Type, expected)
	}
	if _, isFlag := p.defaultValue.(bool); isFlag {
		on, ok := v.BooleanOK()
		if !ok {
			return nil, mismatch("type 'bool'")
		}
		return on, nil
	}
	n, ok := v.AsInt64OK()
	switch {
	case !ok:
		return nil, mismatch("types '[long, int, decimal, double]'")
	case n < 0 || n > math.MaxInt32:
		return nil, mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 0 and <= %d, actual value '%d'",
			p.field, math.MaxInt32, n)
	}
	return n, nil
}

func (cp *ClusterParameters) setParameter(p clusterParameter, to any) error {
	at := cp.ids.Tick()
	details := bson.D{{Key: "name", Value: p.name}, {Key: "value", Value: bson.D{{Key: p.field, Value: to}}},
		{Key: "time", Value: at}}
	ns := "config." + configParameters
	cp.log.writeChange(configShard, "setClusterParameter.start", ns, details)
	if err := cp.writeParameter(p, to, at); err != nil {
		return err
	}
	cp.log.writeChange(configShard, "setClusterParameter.end", ns, details)
	return nil
}

func (cp *ClusterParameters) writeParameter(p clusterParameter, to any, at bson.Timestamp) error {
	found, err := cp.config.modify(configParameters, p.name, func(doc *bson.D) {
		setDocField(doc, "clusterParameterTime", at)
		setDocField(doc, p.field, to)
	})
	if found || err != nil {
		return err
	}
	return cp.config.insert(configParameters, bson.D{{Key: "_id", Value: p.name}, {Key: "clusterParameterTime",
		Value: at}, {Key: p.field, Value: to}})
}

// updateShardCountParameters updates the parameters that depend on the number of shards after a shard
// was added or removed. hasTwoOrMoreShards is never reset.
func (m *ShardMembership) updateShardCountParameters() {
	had := m.hadTwoShards
	m.hadTwoShards = m.hadTwoShards || len(m.shards) > 1
	changes := map[string]bool{parameterShardsChange: false}
	if m.hadTwoShards && !had {
		changes[parameterHasTwoShards] = true
	}
	for _, p := range clusterParameters() {
		to, changed := changes[p.name]
		if _, known := m.clusterParameters.find(p.name); !changed || !known {
			continue
		}
		if err := m.clusterParameters.writeParameter(p, to, m.ids.Tick()); err != nil {
			m.logger.Warn("cluster parameter not written", "name", p.name, "error", err)
		}
	}
}

// DefaultMaxTime returns the default time limit of reads; zero means no limit.
func (cp *ClusterParameters) DefaultMaxTime() time.Duration {
	if !cp.release.FCVAtLeast(catalog.Release80) {
		return 0
	}
	raw, _ := cp.config.doc(configParameters, parameterMaxTime)
	ms, _ := raw.Lookup("readOperations").AsInt64OK()
	return time.Duration(ms) * time.Millisecond
}

// concernsSettingID is the _id of the document in config.settings with the default read and write concern.
const concernsSettingID = "ReadWriteConcernDefaults"

// DefaultConcerns returns the default read and write concern in the format of getDefaultRWConcern: the
// implicit defaults unless others were set.
func (cp *ClusterParameters) DefaultConcerns() bson.D {
	raw, _ := cp.config.doc(configSettings, concernsSettingID)
	source := func(v bson.RawValue) string {
		if v.IsZero() {
			return "implicit"
		}
		return "global"
	}
	read, write := raw.Lookup("defaultReadConcern"), raw.Lookup("defaultWriteConcern")
	doc := bson.D{}
	if read.IsZero() {
		doc = append(doc, bson.E{Key: "defaultReadConcern", Value: bson.D{{Key: "level", Value: "local"}}})
	} else {
		doc = append(doc, bson.E{Key: "defaultReadConcern", Value: read})
	}
	if write.IsZero() {
		doc = append(doc, bson.E{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: "majority"},
			{Key: "wtimeout", Value: int32(0)}}})
	} else {
		doc = append(doc, bson.E{Key: "defaultWriteConcern", Value: write})
	}
	for _, name := range []string{"updateOpTime", "updateWallClockTime"} {
		if v := raw.Lookup(name); !v.IsZero() {
			doc = append(doc, bson.E{Key: name, Value: v})
		}
	}
	return append(doc,
		bson.E{Key: "defaultWriteConcernSource", Value: source(write)},
		bson.E{Key: "defaultReadConcernSource", Value: source(read)})
}

// DefaultWriteConcern returns the effective write concern of a write whose requested write concern has
// no w, and its provenance: the default that was set, or the implicit default, which is majority since 5.0.
// The mock has no arbiters.
func (cp *ClusterParameters) DefaultWriteConcern(requested bson.Raw) (concern bson.Raw, source string) {
	raw, _ := cp.config.doc(configSettings, concernsSettingID)
	set, isSet := raw.Lookup("defaultWriteConcern").DocumentOK()
	w, source := any(int32(1)), "implicitDefault"
	switch {
	case isSet && !set.Lookup("w").IsZero():
		w, source = set.Lookup("w"), "customDefault"
	case cp.release.DefaultsToMajority():
		w = "majority"
	}
	timeout := requested.Lookup("wtimeout")
	if timeout.IsZero() && source == "customDefault" {
		timeout = set.Lookup("wtimeout")
	}
	fields := bson.D{{Key: "w", Value: w}}
	if !timeout.IsZero() {
		fields = append(fields, bson.E{Key: "wtimeout", Value: timeout})
	}
	return mustEncode(fields), source
}

// DefaultReadLevel returns the level of the default read concern.
func (cp *ClusterParameters) DefaultReadLevel() string {
	raw, _ := cp.config.doc(configSettings, concernsSettingID)
	level, _ := raw.Lookup("defaultReadConcern", "level").StringValueOK()
	return cmp.Or(level, "local")
}

// SetDefaultConcerns stores new defaults in config.settings. A nil document keeps the current default;
// an empty read concern unsets it. A write concern cannot be unset.
func (cp *ClusterParameters) SetDefaultConcerns(read, write bson.Raw) error {
	raw, _ := cp.config.doc(configSettings, concernsSettingID)
	if write != nil && document.IsEmpty(write) && !raw.Lookup("defaultWriteConcern").IsZero() {
		return mongoerr.New(mongoerr.IllegalOperation, "The global default write concern cannot be unset once it is set.")
	}
	at := cp.ids.Tick()
	fields := bson.D{{Key: "updateOpTime", Value: at}, {Key: "updateWallClockTime",
		Value: bson.NewDateTimeFromTime(cp.clock.Now())}}
	for name, doc := range map[string]bson.Raw{"defaultReadConcern": read, "defaultWriteConcern": write} {
		if !document.IsEmpty(doc) {
			fields = append(fields, bson.E{Key: name, Value: doc})
		}
	}
	if err := cp.config.setSetting(concernsSettingID, fields); err != nil {
		return err
	}
	if read == nil || !document.IsEmpty(read) {
		return nil
	}
	_, err := cp.config.modify(configSettings, concernsSettingID,
		func(doc *bson.D) { unsetDocField(doc, "defaultReadConcern") })
	return err
}
