package catalog

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/humanize"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// ThrottleState is the state of the _secondaryThrottle setting.
type ThrottleState uint8

// The states of a throttle.
const (
	ThrottleDefault ThrottleState = iota
	ThrottleOff
	ThrottleOn
)

// Throttle is the _secondaryThrottle setting (rules/01-rounds-and-settings §2.5). The zero value is
// the default.
type Throttle struct {
	State        ThrottleState
	WriteConcern bson.Raw // nil = none; only with ThrottleOn
}

// CommandFields returns the fields of a balancer's migration command: secondaryThrottle and
// writeConcern. The bool alone has no effect in 8.0.
func (t Throttle) CommandFields() (secondaryThrottle bool, writeConcern bson.Raw) {
	if t.State == ThrottleOn && t.WriteConcern != nil {
		return true, t.WriteConcern
	}
	return t.State == ThrottleOn, oneNodeWriteConcern
}

// oneNodeWriteConcern is {w: 1, wtimeout: 0}, which is part of each migration command. It must not be
// changed.
var oneNodeWriteConcern = bson.Raw(bsoncore.NewDocumentBuilder().AppendInt32("w", 1).AppendInt32("wtimeout", 0).Build())

// ParseThrottle parses the _secondaryThrottle field: a bool, or a write concern document, where a
// number w of at most 1 means off. The zero RawValue (field absent) is the default; other types are
// TypeMismatch.
func ParseThrottle(v bson.RawValue) (Throttle, error) {
	switch v.Type {
	case 0:
		return Throttle{}, nil
	case bson.TypeBoolean:
		if on, _ := v.BooleanOK(); on {
			return Throttle{State: ThrottleOn}, nil
		}
		return Throttle{State: ThrottleOff}, nil
	case bson.TypeEmbeddedDocument:
	default:
		return Throttle{}, field{"_secondaryThrottle", v}.mismatchError("a bool or a write concern")
	}
	doc := bson.Raw(append([]byte(nil), v.Value...))
	waits, err := waitsForOthers(doc)
	if err != nil {
		return Throttle{}, err
	}
	if !waits {
		return Throttle{State: ThrottleOff}, nil
	}
	return Throttle{State: ThrottleOn, WriteConcern: doc}, nil
}

// MaxReplicaSetMembers is the maximum number of members of a replica set, voting and non-voting, and so
// of members in a write concern.
const MaxReplicaSetMembers = 50

// waitsForOthers validates a write concern and reports whether it waits for more members than the
// primary.
func waitsForOthers(doc bson.Raw) (bool, error) {
	waits, fields, journal, fsync := false, 0, false, false
	for e, rest, ok := keyorder.Next(keyorder.Body(doc)); ok; e, rest, ok = keyorder.Next(rest) {
		fields++
		f := field{string(e.Name), e.Value}
		var err error
		switch f.name {
		case "w":
			waits, err = wWaitsForOthers(f)
		case "j":
			err = f.lenientBool(&journal)
		case "fsync":
			err = f.lenientBool(&fsync)
		case "wtimeout":
			if keyorder.Rank(f.value.Type) != keyorder.Rank(bson.TypeInt32) {
				err = f.mismatchError("a number")
			}
		case "provenance":
		default:
			err = mongoerr.New(mongoerr.FailedToParse, "unknown field %q in write concern", f.name)
		}
		if err != nil {
			return false, err
		}
	}
	switch {
	case fields == 0:
		return false, mongoerr.New(mongoerr.FailedToParse, "write concern is empty")
	case journal && fsync:
		return false, mongoerr.New(mongoerr.FailedToParse, "write concern asks for both j and fsync")
	}
	return waits, nil
}

func wWaitsForOthers(f field) (bool, error) {
	switch f.value.Type {
	case bson.TypeString, bson.TypeEmbeddedDocument:
		return true, nil
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
	default:
		return false, mongoerr.New(mongoerr.FailedToParse,
			"w of a write concern must be a number, a string or an object, not %s", f.value.Type)
	}
	var n int64
	if err := f.int64(&n); err != nil || n < 0 || n > MaxReplicaSetMembers {
		return false, mongoerr.New(mongoerr.FailedToParse, "w of a write concern must be an integer from 0 to %d, not %s",
			MaxReplicaSetMembers, humanize.ValueLiteral(f.value))
	}
	return n > 1, nil
}
