package mock

import (
	"cmp"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// configConcerns is where config.settings keeps the cluster's default read and
// write concern.
const configConcerns = "ReadWriteConcernDefaults"

// DefaultConcerns are the default read and write concern as getDefaultRWConcern
// shows them: the implicit ones until somebody sets others.
func (cp ClusterParameters) DefaultConcerns() bson.D {
	raw, _ := cp.c.config.doc(configSettings, configConcerns)
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
		doc = append(doc, bson.E{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: int32(0)}}})
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

// DefaultReadLevel returns the level of the cluster's default read concern.
func (cp ClusterParameters) DefaultReadLevel() string {
	raw, _ := cp.c.config.doc(configSettings, configConcerns)
	level, _ := raw.Lookup("defaultReadConcern", "level").StringValueOK()
	return cmp.Or(level, "local")
}

// SetDefaultConcerns keeps new defaults in config.settings. A nil document
// leaves what there is, an empty read concern unsets it; a write concern can't
// be unset.
func (cp ClusterParameters) SetDefaultConcerns(read, write bson.Raw) error {
	raw, _ := cp.c.config.doc(configSettings, configConcerns)
	if write != nil && len(write) <= 5 && !raw.Lookup("defaultWriteConcern").IsZero() {
		return mongoerr.New(mongoerr.IllegalOperation, "The global default write concern cannot be unset once it is set.")
	}
	at := cp.c.Tick()
	fields := bson.D{{Key: "updateOpTime", Value: at}, {Key: "updateWallClockTime", Value: bson.NewDateTimeFromTime(cp.c.now())}}
	for name, doc := range map[string]bson.Raw{"defaultReadConcern": read, "defaultWriteConcern": write} {
		if len(doc) > 5 {
			fields = append(fields, bson.E{Key: name, Value: doc})
		}
	}
	if err := cp.c.config.setSetting(configConcerns, fields); err != nil {
		return err
	}
	if read == nil || len(read) > 5 {
		return nil
	}
	_, err := cp.c.config.modify(configSettings, configConcerns, func(doc *bson.D) { unset(doc, "defaultReadConcern") })
	return err
}
