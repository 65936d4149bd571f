package args

import (
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// Mode is a read preference mode: the replica set members that a read may use. The empty Mode means
// Primary.
type Mode string

// The modes of a read preference.
const (
	Primary            Mode = "primary"
	PrimaryPreferred   Mode = "primaryPreferred"
	Secondary          Mode = "secondary"
	SecondaryPreferred Mode = "secondaryPreferred"
	Nearest            Mode = "nearest"
)

// ReadPreference is the $readPreference of a command.
type ReadPreference struct {
	Mode Mode
	// MaxStaleness is the maximum replication lag of a secondary that may be read from; 0 means no
	// limit.
	MaxStaleness time.Duration
	// Text is the read preference as error messages show it.
	Text string
}

// AllowsSecondaries reports whether a read may use a secondary although a primary is available.
func (p ReadPreference) AllowsSecondaries() bool {
	return p.Mode == Secondary || p.Mode == SecondaryPreferred || p.Mode == Nearest
}

// minStalenessSeconds is the minimum of maxStalenessSeconds.
const minStalenessSeconds = 90

var readPreferenceFields = []Field{
	Required("mode", String).OneOf(string(Primary), string(PrimaryPreferred), string(Secondary),
		string(SecondaryPreferred), string(Nearest)),
	Optional("tags", Array),
	Optional("maxStalenessSeconds", SafeInt).WithTypeNames("long, double, decimal, int"),
	Optional("hedge", Object),
}

// ReadReadPreference reads $readPreference, with the errors of a mongos. It does not check which members
// have which tags, because the members of a mock have none.
func ReadReadPreference(v bson.RawValue) (p ReadPreference, err error) {
	if v.IsZero() {
		return p, nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return p, mongoerr.New(mongoerr.TypeMismatch, "$readPreference has incorrect type: expected object but got %s",
			TypeName(v.Type))
	}
	if err := Check("readPreference", readPreferenceFields, doc); err != nil {
		return p, err
	}
	p.Mode = Mode(Text(doc.Lookup("mode")))
	if err := p.checkTags(doc.Lookup("tags")); err != nil {
		return p, err
	}
	p.Text = mongoerr.Text(doc)
	return p, p.readStaleness(doc.Lookup("maxStalenessSeconds"))
}

func (p ReadPreference) checkTags(v bson.RawValue) error {
	array, isArray := v.ArrayOK()
	if !isArray {
		return nil
	}
	sets, err := array.Values()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	any := len(sets) == 1 && sets[0].Type == bson.TypeEmbeddedDocument && len(sets[0].Document()) <= 5 // [{}]
	if p.Mode == Primary && len(sets) > 0 && !any {
		return mongoerr.New(mongoerr.BadValue, "Only empty tags are allowed with primary read preference")
	}
	return nil
}

func (p *ReadPreference) readStaleness(v bson.RawValue) error {
	n, isNumber := Number(v)
	switch {
	case !isNumber: // none
	case n != math.Trunc(n):
		return mongoerr.New(mongoerr.BadValue, "Expected field \"maxStalenessSeconds\" to have a value exactly "+
			"representable as a 64-bit integer, but found maxStalenessSeconds: %v", n)
	case n < 0:
		return mongoerr.New(mongoerr.BadValue, "maxStalenessSeconds must be a non-negative integer")
	case n > math.MaxInt64/float64(time.Second):
		return mongoerr.New(mongoerr.BadValue, "maxStalenessSeconds value can not exceed %d", math.MaxInt64/time.Second)
	case n > 0 && n < minStalenessSeconds:
		return mongoerr.New(mongoerr.MaxStalenessOutOfRange, "maxStalenessSeconds value cannot be less than %d",
			minStalenessSeconds)
	case n > 0 && p.Mode == Primary:
		return mongoerr.New(mongoerr.BadValue, "maxStalenessSeconds can not be set for the primary mode")
	}
	p.MaxStaleness = time.Duration(n) * time.Second
	return nil
}
