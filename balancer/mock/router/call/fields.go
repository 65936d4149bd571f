package call

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mongoerr"
)

// CursorBatchSize reads the cursor option, whose only field is batchSize.
func (c *Call) CursorBatchSize(cursor bson.Raw) (int, error) {
	if cursor == nil {
		return c.BatchSize(bson.RawValue{})
	}
	if err := args.Check("cursor", []args.Field{args.Optional("batchSize", args.Count)}, cursor); err != nil {
		return 0, err
	}
	return c.BatchSize(cursor.Lookup("batchSize"))
}

// Namespace joins the call's database and the collection name in the command's value.
func (c *Call) Namespace() (string, error) {
	v := c.Body.Lookup(c.InvokedAs)
	name, ok := v.StringValueOK()
	if !ok {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "collection name has invalid type %s", args.TypeName(v.Type))
	}
	if name == "" {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified: %s", c.DB)
	}
	if name[0] == '.' || strings.ContainsRune(name, 0) {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s.%s'", c.DB, name)
	}
	return c.DB + "." + name, nil
}

// TargetNamespace returns the namespace that a command operates on. The value of an admin-only command
// is a full namespace.
func (c *Call) TargetNamespace(cmd *Command) string {
	name, _ := c.Body.Lookup(c.InvokedAs).StringValueOK()
	if cmd.AdminOnly || cmd.Name == "dataSize" {
		return name
	}
	return c.DB + "." + name
}

// TargetArg returns the value of the command's name field.
func (c *Call) TargetArg() bson.RawValue { return c.Args[c.InvokedAs] }

// Document reads an optional object, nil if it is absent.
func (c *Call) Document(name string) (bson.Raw, error) {
	v := c.Body.Lookup(name)
	if v.IsZero() || v.Type == bson.TypeNull {
		return nil, nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected type 'object'",
			c.InvokedAs, name, args.TypeName(v.Type))
	}
	return doc, nil
}

func checkNatural(direction bson.RawValue) error {
	if n, isNumber := direction.AsInt64OK(); !isNumber || n != 1 && n != -1 {
		return mongoerr.New(mongoerr.BadValue, "$natural sort cannot be set to a value other than -1 or 1.")
	}
	return nil
}

// Hint reads the name or the key pattern of an index, or {$natural: ±1}.
func (c *Call) Hint(from bson.Raw) (bson.RawValue, error) {
	v := from.Lookup("hint")
	switch v.Type {
	case 0, bson.TypeNull, bson.TypeString:
		return v, nil
	case bson.TypeEmbeddedDocument:
		if direction := v.Document().Lookup("$natural"); !direction.IsZero() {
			return v, checkNatural(direction)
		}
		if document.IsEmpty(v.Value) {
			return bson.RawValue{}, nil
		}
		return v, nil
	}
	return v, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
}

func (c *Call) readSort(name string) (*order.Sort, error) {
	doc, err := c.Document(name)
	if err != nil || document.IsEmpty(doc) {
		return nil, err
	}
	return order.Compile(doc)
}

// BatchSize reads the size of a first batch; the default is 101.
func (c *Call) BatchSize(v bson.RawValue) (int, error) {
	if v.IsZero() || v.Type == bson.TypeNull {
		return firstBatchDefault, nil
	}
	n, isNumber := v.AsInt64OK()
	if !isNumber {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "BSON field 'batchSize' is the wrong type '%s'", args.TypeName(v.Type))
	}
	if n < 0 {
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field 'batchSize' value must be >= 0, actual value '%d'", n)
	}
	return int(n), nil
}

// Filter compiles a query with the command's variables and time.
func (c *Call) Filter(query bson.Raw) (*filter.Filter, error) {
	let, err := c.Let()
	if err != nil {
		return nil, err
	}
	return filter.CompileWith(query, filter.Options{Let: let, Now: c.Now, Language: c.Language()})
}

// Projection compiles a projection with the command's variables and time. filter is the filter of its
// query.
func (c *Call) Projection(spec bson.Raw, filter *filter.Filter) (*projection.Projection, error) {
	let, err := c.Let()
	if err != nil {
		return nil, err
	}
	return projection.CompileWith(spec, projection.Options{
		Filter: filter, Let: let, Now: c.Now, Language: c.Language()})
}

// RequiredText reads a required string field. The error is 4 for a missing field and 14 for another
// type.
func (c *Call) RequiredText(name string) (string, error) {
	v := c.Body.Lookup(name)
	if v.IsZero() {
		return "", mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"%s\"", name)
	}
	s, isText := v.StringValueOK()
	if !isText {
		return "", mongoerr.New(mongoerr.TypeMismatch, "\"%s\" had the wrong type. Expected string, found %s", name,
			args.TypeName(v.Type))
	}
	return s, nil
}
