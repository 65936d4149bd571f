package database

import (
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
)

func indexMethods() script.Methods[*Collection] {
	return script.Methods[*Collection]{
		{"createIndex", "keys:object|string options?:any commitQuorum?:any", func(c *script.Call,
			coll *Collection) goja.Value {
			return c.JS.Runtime.ToValue(coll.createIndexes(c, []goja.Value{c.Arg(0)})[0])
		}, "Creates an index and returns its name."},
		{"ensureIndex", "keys:object|string options?:any", func(c *script.Call, coll *Collection) goja.Value {
			return c.JS.Runtime.NewArray(coll.createIndexes(c, []goja.Value{c.Arg(0)})...)
		}, "The old name of createIndex."},
		{"createIndexes", "keys:object options?:any commitQuorum?:any", func(c *script.Call, coll *Collection) goja.Value {
			if c.Object(0).ClassName() != "Array" {
				c.JS.ThrowInvalid("createIndexes takes an array of keys; createIndex takes one")
			}
			return c.JS.Runtime.NewArray(coll.createIndexes(c, script.Items(c.Object(0)))...)
		}, "Creates several indexes and returns their names."},
		{"getIndexes", "", collGetIndexes, "Returns the indexes."},
		{"getIndices", "", collGetIndexes, "The same as getIndexes."},
		{"getIndexSpecs", "", collGetIndexes, "The same as getIndexes."},
		{"getIndexKeys", "", func(c *script.Call, coll *Collection) goja.Value {
			indexes := coll.database.ListIndexes(coll.name)
			keys := make([]any, len(indexes))
			for i, ix := range indexes {
				keys[i] = c.JS.Values.ToJS(ix.Lookup("key"))
			}
			return c.JS.Runtime.NewArray(keys...)
		}, "Returns the keys of the indexes."},
		{"dropIndex", "index:any", collDropIndex, "Drops one index."},
		{"dropIndexes", "indexes?:any", func(c *script.Call, coll *Collection) goja.Value {
			var index any = "*"
			if c.Has(0) {
				index = c.JS.BSONValue(c.Arg(0))
			}
			return coll.host.Display.ReplyValue(coll.database.Run(bson.D{{Key: "dropIndexes", Value: coll.name}, {Key: "index",
				Value: index}}))
		}, "Drops indexes; all but the one on _id without an argument."},
		{"hideIndex", "index:string|object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.setHidden(c, true)
		},
			"Hides an index from queries."},
		{"unhideIndex", "index:string|object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.setHidden(c, false)
		},
			"Ends hideIndex."},
		{"getSearchIndexes", "name?:string|object options?:object", func(c *script.Call, coll *Collection) goja.Value {
			stage := bson.D{}
			if goja.IsString(c.Arg(0)) {
				stage = bson.D{{Key: "name", Value: c.Text(0)}}
			}
			return c.JS.DocumentArray(coll.database.AggregateAll(coll.name, bson.D{{Key: "$listSearchIndexes", Value: stage}}))
		}, "Returns the search indexes."},
		{"createSearchIndex", "nameOrDefinition:string|object typeOrDefinition?:string|object definition?:object",
			func(c *script.Call, coll *Collection) goja.Value {
				return coll.createSearchIndexes(c, []goja.Value{searchIndexSpec(c)}).Get("0")
			}, "Creates a search index and returns its name."},
		{"createSearchIndexes", "indexes:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.createSearchIndexes(c, script.Items(c.Object(0)))
		}, "Creates search indexes and returns their names."},
		{"dropSearchIndex", "name:string", func(c *script.Call, coll *Collection) goja.Value {
			coll.database.Run(bson.D{{Key: "dropSearchIndex", Value: coll.name}, {Key: "name", Value: c.Text(0)}})
			return nil
		}, "Drops a search index."},
		{"updateSearchIndex", "name:string definition:object", func(c *script.Call, coll *Collection) goja.Value {
			coll.database.Run(bson.D{{Key: "updateSearchIndex", Value: coll.name}, {Key: "name", Value: c.Text(0)},
				{Key: "definition", Value: c.JS.Document(c.Arg(1))}})
			return nil
		}, "Changes a search index."},
		{"reIndex", "", func(_ *script.Call, coll *Collection) goja.Value {
			return coll.host.Display.ReplyValue(coll.database.Run(bson.D{{Key: "reIndex", Value: coll.name}}))
		}, "Builds all indexes again."},
	}
}

// createIndexes sends one command for all keys and returns the names of the indexes.
func (coll *Collection) createIndexes(c *script.Call, keys []goja.Value) []any {
	options := c.Object(1)
	if c.Has(1) && options == nil {
		c.JS.ThrowInvalid("The \"options\" argument must be an object.")
	}
	names := make([]any, len(keys))
	indexes := make(bson.A, len(keys))
	for i, k := range keys {
		key := indexKey(c, k)
		spec := c.JS.Merge(bson.D{}, script.ObjectOrUndefined(options), "name", "key", "commitQuorum")
		name := indexName(key)
		if v := script.Property(options, "name"); v != nil && len(keys) == 1 {
			name = v.String()
		}
		names[i] = name
		indexes[i] = append(spec, bson.E{Key: "name", Value: name}, bson.E{Key: "key", Value: key})
	}
	body := bson.D{{Key: "createIndexes", Value: coll.name}, {Key: "indexes", Value: indexes}}
	if c.Has(2) {
		body = append(body, bson.E{Key: "commitQuorum", Value: c.JS.BSONValue(c.Arg(2))})
	}
	coll.database.Run(body)
	return names
}

func indexKey(c *script.Call, v goja.Value) bson.Raw {
	if goja.IsString(v) {
		return rawdoc.MustMarshal(bson.D{{Key: v.String(), Value: int32(1)}})
	}
	key := c.JS.Document(v)
	c.JS.CheckKeyOrder(v, key)
	return key
}

// indexName returns the default name: fields and values joined by underscores.
func indexName(key bson.Raw) string {
	elems, _ := key.Elements()
	name := ""
	for i, el := range elems {
		if i > 0 {
			name += "_"
		}
		name += el.Key() + "_"
		v := el.Value()
		switch {
		case v.Type == bson.TypeString:
			name += v.StringValue()
		default:
			if f, ok := v.AsFloat64OK(); ok {
				name += strconv.FormatFloat(f, 'f', -1, 64)
			}
		}
	}
	return name
}

func collGetIndexes(c *script.Call, coll *Collection) goja.Value {
	return c.JS.DocumentArray(coll.database.ListIndexes(coll.name))
}

func collDropIndex(c *script.Call, coll *Collection) goja.Value {
	if goja.IsString(c.Arg(0)) && c.Text(0) == "*" {
		c.JS.ThrowInvalid("To drop indexes in the collection using '*', use db.collection.dropIndexes().")
	}
	o := c.Object(0)
	if !goja.IsString(c.Arg(0)) && (o == nil || o.ClassName() == "Array") {
		c.JS.ThrowInvalid("The index to drop must be either the index name or the index specification document.")
	}
	return coll.host.Display.ReplyValue(coll.database.Run(bson.D{{Key: "dropIndexes", Value: coll.name},
		{Key: "index", Value: c.JS.BSONValue(c.Arg(0))}}))
}

func (coll *Collection) setHidden(c *script.Call, hidden bool) goja.Value {
	which := "keyPattern"
	if goja.IsString(c.Arg(0)) {
		which = "name"
	}
	return coll.host.Display.ReplyValue(coll.database.Run(bson.D{{Key: "collMod", Value: coll.name},
		{Key: "index", Value: bson.D{
			{Key: which, Value: c.JS.BSONValue(c.Arg(0))}, {Key: "hidden", Value: hidden},
		}}}))
}

// searchIndexSpec accepts ({name, type, definition}), (name, definition), (name, type, definition) and
// (definition).
func searchIndexSpec(c *script.Call) goja.Value {
	if o := c.Object(0); o != nil && script.Property(o, "definition") != nil {
		return o
	}
	name, definition := c.JS.Runtime.ToValue("default"), c.Arg(2)
	if goja.IsString(c.Arg(0)) {
		name = c.Arg(0)
	}
	for _, i := range []int{1, 0} {
		if o := c.Object(i); o != nil {
			definition = o
		}
	}
	spec := c.JS.NewObject("name", name)
	if goja.IsString(c.Arg(1)) {
		script.Must(spec.Set("type", c.Arg(1)))
	}
	if goja.IsUndefined(definition) {
		definition = c.JS.Runtime.NewObject()
	}
	script.Must(spec.Set("definition", definition))
	return spec
}

// createSearchIndexes sends the type only if it is not the default.
func (coll *Collection) createSearchIndexes(c *script.Call, specs []goja.Value) *goja.Object {
	indexes := make(bson.A, len(specs))
	for i, v := range specs {
		o, ok := v.(*goja.Object)
		if !ok {
			c.JS.ThrowInvalid("search index %d is not a document", i)
		}
		if t := script.Property(o, "type"); t != nil && t.String() == "search" {
			indexes[i] = c.JS.Merge(bson.D{}, o, "type")
			continue
		}
		indexes[i] = c.JS.Document(o)
	}
	reply := coll.database.Run(bson.D{{Key: "createSearchIndexes", Value: coll.name}, {Key: "indexes", Value: indexes}})
	list, _ := reply.Lookup("indexesCreated").ArrayOK()
	values, _ := list.Values()
	names := make([]any, len(values))
	for i, v := range values {
		doc, _ := v.DocumentOK()
		names[i] = rawdoc.Text(doc, "name")
	}
	return c.JS.Runtime.NewArray(names...)
}
