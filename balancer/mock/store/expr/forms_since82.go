package expr

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// The expressions of 8.2 and 8.3. Results and codes are those of the server's own tests
// (jstests/aggregation/expressions: hash.js, subtype.js, create_oid.js, current_date.js). The error
// messages are our own.

// forms83 returns the operators that 8.3 adds (see Language).
func (c *Compiler) forms83() map[string]operatorCompiler {
	return map[string]operatorCompiler{
		"$hash":           c.compileHash,
		"$hexHash":        c.compileHash,
		"$subtype":        c.compileSubtype,
		"$createObjectId": formWithoutArguments(func(c *Evaluation) value.Value { return value.ObjectID(c.newObjectID()) }),

		"$serializeEJSON":   c.compileEJSON,
		"$deserializeEJSON": c.compileEJSON,
		"$toArray":          c.compileConversion(bson.TypeArray),
		"$toObject":         c.compileConversion(bson.TypeEmbeddedDocument),
	}
}

// formWithoutArguments returns an operator whose argument must be {} and that returns a new value each
// time.
func formWithoutArguments(newValue func(c *Evaluation) value.Value) operatorCompiler {
	return func(name string, arg value.Value, _ *Scope) (Expression, error) {
		if !value.IsObject(arg) || !document.IsEmpty(arg.Value) {
			return nil, servererr.FailedToParse("%s does not accept arguments", name)
		}
		return ExpressionFunc(func(c *Evaluation) (value.Value, error) { return newValue(c), nil }), nil
	}
}

// newObjectID returns an ObjectId from the time and random bytes.
func (c *Evaluation) newObjectID() bson.ObjectID {
	var id bson.ObjectID
	binary.BigEndian.PutUint32(id[:], uint32(c.now().Unix()))
	binary.BigEndian.PutUint32(id[4:], uint32(c.Random()*(1<<32)))
	binary.BigEndian.PutUint32(id[8:], uint32(c.Random()*(1<<32)))
	return id
}

func (c *Compiler) compileSubtype(name string, arg value.Value, sc *Scope) (Expression, error) {
	return c.compileCall(name, function{1, 1, func(_ *Evaluation, args []value.Value) (value.Value, error) {
		switch v := args[0]; {
		case value.IsNullish(v):
			return value.Null(), nil
		case v.Type == bson.TypeBinary:
			subtype, _ := value.BinaryAt(v.Value)
			return value.Int32(int32(subtype)), nil
		default:
			return v, servererr.NewCode(10389300, "$subtype requires a binData argument, found: %s", value.TypeName(v))
		}
	}}, arg, sc)
}

// hashAlgorithms are the algorithms of $hash by name.
var hashAlgorithms = map[string]func(data []byte) []byte{
	"md5":    func(data []byte) []byte { sum := md5.Sum(data); return sum[:] },
	"sha256": func(data []byte) []byte { sum := sha256.Sum256(data); return sum[:] },
	"xxh64":  func(data []byte) []byte { return binary.BigEndian.AppendUint64(nil, xxhash.Sum64(data)) },
}

// compileHash compiles $hash and $hexHash.
func (c *Compiler) compileHash(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.compileStrictArguments(name, arg, sc, 2, "input", "algorithm")
	if err != nil {
		return nil, err
	}
	call := func(_ *Evaluation, args []value.Value) (value.Value, error) {
		sum, err := evalHash(name, args[0], args[1])
		switch {
		case err != nil || sum == nil:
			return value.Null(), err
		case name == "$hexHash":
			return value.String(fmt.Sprintf("%X", sum)), nil
		}
		return value.Binary(sum), nil
	}
	return c.fold(&callExpression{name: name, args: args, call: call}, args, sc)
}

// evalHash returns the hash of input, nil if input is null.
func evalHash(name string, input, algorithm value.Value) ([]byte, error) {
	if !value.IsString(algorithm) {
		return nil, servererr.NewCode(10754001, "%s requires 'algorithm' to be a string, found: %s", name,
			value.TypeName(algorithm))
	}
	sum, known := hashAlgorithms[value.TextAt(algorithm.Value)]
	if !known {
		return nil, servererr.NewCode(10754002, "%s does not know the algorithm '%s'", name, value.TextAt(algorithm.Value))
	}
	switch {
	case value.IsNullish(input):
		return nil, nil
	case value.IsString(input):
		return sum([]byte(value.TextAt(input.Value))), nil
	case input.Type == bson.TypeBinary:
		_, data := value.BinaryAt(input.Value)
		return sum(data), nil
	}
	return nil, servererr.NewCode(10754000, "%s requires 'input' to be a string or binData, found: %s", name,
		value.TypeName(input))
}

// compileStrictArguments compiles named arguments, of which the first required ones must be present. All
// errors have code FailedToParse.
func (c *Compiler) compileStrictArguments(name string, arg value.Value, sc *Scope, required int, names ...string,
) ([]Expression, error) {
	if !value.IsObject(arg) {
		return nil, servererr.FailedToParse("%s requires an object as an argument, found: %s", name, value.TypeName(arg))
	}
	args := make([]Expression, len(names))
next:
	for key, v := range document.Fields(arg.Value) {
		for i, n := range names {
			if n == string(key) {
				var err error
				if args[i], err = c.Compile(v, sc); err != nil {
					return nil, err
				}
				continue next
			}
		}
		return nil, servererr.FailedToParse("%s found an unknown argument: %s", name, key)
	}
	for i := range required {
		if args[i] == nil {
			return nil, servererr.FailedToParse("%s requires '%s' to be specified", name, names[i])
		}
	}
	return args, nil
}
