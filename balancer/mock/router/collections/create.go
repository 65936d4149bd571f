package collections

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mongoerr"
)

// refusedOptions returns the options that the mock does not support, because they change how a
// collection works.
func refusedOptions() []string {
	return []string{"timeseries", "clusteredIndex", "encryptedFields"}
}

func refuseOptions(c *call.Call) error {
	if index, given := c.Body.Lookup("clusteredIndex").DocumentOK(); given {
		if !isIDKey(index.Lookup("key")) {
			return mongoerr.New(mongoerr.InvalidIndexSpecificationOption,
				"The clusteredIndex option is only supported for key: {_id: 1}")
		}
	}
	if err := checkTimeSeries(c); err != nil {
		return err
	}
	for _, name := range refusedOptions() {
		v := c.Body.Lookup(name)
		off := v.Type == bson.TypeBoolean && !v.Boolean()
		if !v.IsZero() && v.Type != bson.TypeNull && !off {
			return mongoerr.New(mongoerr.NotImplemented, "the mock does not support collections with %s", name)
		}
	}
	if c.Args.Has("expireAfterSeconds") {
		return mongoerr.New(mongoerr.InvalidOptions,
			"'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified")
	}
	return nil
}

// checkTimeSeries rejects time series options that servers reject.
func checkTimeSeries(c *call.Call) error {
	series := c.Args.Object("timeseries")
	if series == nil {
		return nil
	}
	span, isSpan := args.Number(series.Lookup("bucketMaxSpanSeconds"))
	rounding, isRounding := args.Number(series.Lookup("bucketRoundingSeconds"))
	if isSpan != isRounding || span != rounding {
		return mongoerr.New(mongoerr.InvalidOptions,
			"Time-series 'bucketRoundingSeconds' must be equal to 'bucketMaxSpanSeconds'")
	}
	if n, ok := args.Number(c.Body.Lookup("expireAfterSeconds")); ok && n < 0 {
		return mongoerr.New(mongoerr.InvalidOptions, "TTL index 'expireAfterSeconds' option cannot be less than 0")
	}
	return nil
}

func create(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	if err := refuseOptions(c); err != nil {
		return nil, err
	}
	if strings.Contains(ns, "$") {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name: %s", strings.TrimPrefix(ns, c.DB+"."))
	}
	if c.DB == "config" {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "can't create collections in config")
	}
	if err := c.CheckSimpleCollation(c.Body.Raw); err != nil {
		return nil, err
	}
	if on := c.Body.Lookup("viewOn"); !on.IsZero() && on.Type != bson.TypeNull {
		return bson.D{}, createView(c, ns, on)
	}
	if !c.Body.Lookup("pipeline").IsZero() {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "'pipeline' requires 'viewOn' to also be specified")
	}
	if err := checkIDIndex(c.Args.Object("idIndex")); err != nil {
		return nil, err
	}
	options, err := collectionOptions(c)
	if err != nil {
		return nil, err
	}
	return bson.D{}, c.Request.CreateCollection(ns, options)
}

// checkIDIndex rejects an invalid specification of the _id index.
func checkIDIndex(spec bson.Raw) error {
	if spec == nil {
		return nil
	}
	for _, name := range []string{"key", "name"} {
		if spec.Lookup(name).IsZero() {
			return mongoerr.New(mongoerr.FailedToParse, "The '%s' field is a required property of an index specification", name)
		}
	}
	if key := spec.Lookup("key"); !isIDKey(key) {
		doc, _ := key.DocumentOK()
		return mongoerr.New(mongoerr.BadValue, "The field 'key' for an _id index must be {_id: 1}, but got %s", doc)
	}
	return nil
}

// isIDKey reports whether a key is {_id: 1}.
func isIDKey(v bson.RawValue) bool {
	key, isDoc := v.DocumentOK()
	if !isDoc || args.ElementCount(bson.RawArray(key)) != 1 {
		return false
	}
	n, _ := args.Number(key.Lookup("_id"))
	return n == 1
}

// Limits of capped collections.
const (
	maxCappedBytes = 1 << 50
	maxCappedDocs  = 1 << 31
)

// collectionOptions reads the options for limits and validation of a collection.
func collectionOptions(c *call.Call) (bson.D, error) {
	options := bson.D{}
	capped := args.IsTrueOrNonzero(c.Body.Lookup("capped"))
	size, max := c.Body.Lookup("size"), c.Body.Lookup("max")
	switch {
	case capped && size.IsZero():
		return nil, mongoerr.New(mongoerr.InvalidOptions, "specify size:<n> when capped is true")
	case !capped && (!size.IsZero() || !max.IsZero()):
		return nil, mongoerr.New(mongoerr.InvalidOptions,
			"the 'capped' field needs to be true when either the 'size' or 'max' fields are present")
	case capped:
		n, isNumber := size.AsInt64OK()
		if !isNumber || n <= 0 || n > maxCappedBytes {
			return nil, mongoerr.New(mongoerr.BadValue,
				"BSON field 'create.size' value must be > 0 and <= %d, actual value '%s'", int64(maxCappedBytes), size)
		}
		n = (n + 255) / 256 * 256 // the server rounds this way
		options = append(options, bson.E{Key: "capped", Value: true}, bson.E{Key: "size", Value: document.SmallestInt(n)})
		if most, isNumber := max.AsInt64OK(); isNumber && most > 0 {
			if most >= maxCappedDocs {
				return nil, mongoerr.New(mongoerr.BadValue, "max in a capped collection has to be < 2^31")
			}
			options = append(options, bson.E{Key: "max", Value: document.SmallestInt(most)})
		}
	}
	for _, name := range []string{"storageEngine", "indexOptionDefaults"} { // only listed
		if doc, given := c.Body.Lookup(name).DocumentOK(); given {
			options = append(options, bson.E{Key: name, Value: doc})
		}
	}
	options, err := validationOptions(c, options)
	return slices.DeleteFunc(options, func(o bson.E) bool { return o.Value == nil }), err
}

func validationOptions(c *call.Call, options bson.D) (bson.D, error) {
	validator, err := c.Document("validator")
	if err != nil {
		return nil, err
	}
	if !document.IsEmpty(validator) {
		if err := checkValidatorAllowed(c); err != nil {
			return nil, err
		}
		compile := func(context.Context) (*filter.Filter, error) {
			return filter.CompileWith(validator, filter.Options{Language: c.Language()})
		}
		if _, err := call.WithoutLock(c, compile); err != nil {
			return nil, err
		}
		options = append(options, bson.E{Key: "validator", Value: validator})
	}
	for _, name := range []string{"validationLevel", "validationAction"} {
		if text, given := c.Body.Lookup(name).StringValueOK(); given {
			options = append(options, bson.E{Key: name, Value: text})
		}
	}
	return imagesOption(c, options)
}

// checkValidatorAllowed rejects validators on internal collections.
func checkValidatorAllowed(c *call.Call) error {
	ns, err := c.Namespace()
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(ns, c.DB+".system."):
		return mongoerr.New(mongoerr.InvalidOptions, "Document validators not allowed on system collection %s", ns)
	case catalog.IsSystemDatabase(c.DB):
		return mongoerr.New(mongoerr.InvalidOptions,
			"Document validators are not allowed on collection %s in the %s internal database", ns, c.DB)
	}
	return nil
}

// imagesOption reads whether the collection stores pre- and post-images for change streams.
func imagesOption(c *call.Call, options bson.D) (bson.D, error) {
	const name = "changeStreamPreAndPostImages"
	doc := c.Args.Object(name)
	switch {
	case doc == nil:
		return options, nil
	case !args.IsTrueOrNonzero(doc.Lookup("enabled")):
		return append(options, bson.E{Key: name}), nil
	}
	return append(options, bson.E{Key: name, Value: doc}), nil
}

func createView(c *call.Call, ns string, on bson.RawValue) error {
	view, err := readView(c, ns, on)
	if err != nil {
		return err
	}
	return c.Request.CreateView(ns, c.DB, view)
}

// readView checks the options of a view.
func readView(c *call.Call, ns string, on bson.RawValue) (mock.View, error) {
	name, isText := on.StringValueOK()
	if !isText || name == "" {
		return mock.View{}, mongoerr.New(mongoerr.BadValue, "'viewOn' cannot be empty")
	}
	if args.IsTrueOrNonzero(c.Body.Lookup("capped")) || !c.Body.Lookup("validator").IsZero() {
		return mock.View{}, mongoerr.New(mongoerr.InvalidOptions,
			"Cannot specify 'capped' or 'validator' together with 'viewOn'")
	}
	var stages []bson.Raw
	if v := c.Body.Lookup("pipeline"); !v.IsZero() && v.Type != bson.TypeNull {
		var err error
		if stages, err = args.DocumentsAt(c.InvokedAs+".pipeline", v); err != nil {
			return mock.View{}, err
		}
	}
	for i, s := range stages {
		if name, _, err := call.Stage(s); err == nil && (name == "$out" || name == "$merge") {
			return mock.View{}, mongoerr.New(mongoerr.OptionNotSupportedOnView,
				"Invalid pipeline for view %s :: caused by :: The aggregation stage %s in location %d of the pipeline cannot "+
					"be used in the view definition of %s because it writes to disk", ns, name, i, ns)
		}
	}
	_, err := call.WithoutLock(c, func(context.Context) (*pipeline.Pipeline, error) {
		return pipeline.Compile(stages, pipeline.Env{Language: c.Language()})
	})
	if err != nil {
		if mongoerr.Is(err, mongoerr.NotOneStageField) {
			return mock.View{}, err
		}
		return mock.View{}, mongoerr.Wrap(err, "Invalid pipeline for view "+ns)
	}
	return mock.View{ViewOn: name, Pipeline: stages}, nil
}
