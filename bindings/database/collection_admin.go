package database

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/stats"
)

func adminMethods() script.Methods[*Collection] {
	return script.Methods[*Collection]{
		{"drop", "options?:object", collDrop, "Drops the collection; false when there was none."},
		{"renameCollection", "newName:string dropTarget?:boolean", collRename,
			"Gives the collection another name in the same database."},
		{"isCapped", "", collIsCapped, "Returns whether the collection is capped."},
		{"exists", "", func(c *script.Call, coll *Collection) goja.Value {
			info := coll.listCollectionsEntry()
			if info == nil {
				return goja.Null()
			}
			return c.JS.Values.DocToJS(info)
		}, "Returns what listCollections says of the collection, or null."},
		{"convertToCapped", "size:number", func(c *script.Call, coll *Collection) goja.Value {
			return coll.host.Display.ReplyValue(coll.database.Run(bson.D{{Key: "convertToCapped", Value: coll.name},
				{Key: "size", Value: c.JS.BSONValue(c.Arg(0))}}))
		}, "Makes the collection capped."},
		{"validate", "full?:boolean|object", func(c *script.Call, coll *Collection) goja.Value {
			body := bson.D{{Key: "validate", Value: coll.name}}
			if script.TypeOf(c.Arg(0)) == "boolean" {
				body = append(body, bson.E{Key: "full", Value: c.Arg(0).ToBoolean()})
			} else {
				body = c.JS.Merge(body, c.Arg(0))
			}
			return coll.host.Display.ReplyValue(coll.database.Run(body, server.Repeatable))
		}, "Checks the collection's data and indexes."},
		{"stats", "scaleOrOptions?:number|object", func(c *script.Call, coll *Collection) goja.Value {
			return stats.Call(c, coll.statsCollection())
		},
			"Returns the sizes of the collection, of all shards together."},
		{"dataSize", "", collSize("dataSize", "$storageStats.size"), "Returns the size of the documents in bytes."},
		{"storageSize", "", collSize("storageSize", "$storageStats.storageSize"),
			"Returns the size on disk without indexes."},
		{"totalSize", "", collSize("totalSize", "$storageStats.totalSize"), "Returns the size on disk with indexes."},
		{"totalIndexSize", "", collSize("totalIndexSize", "$storageStats.totalIndexSize"),
			"Returns the size of the indexes."},
		{"compactStructuredEncryptionData", "", func(c *script.Call, _ *Collection) goja.Value {
			c.JS.ThrowInvalid("The \"compactStructuredEncryptionData\" command requires Mongo instance configured with auto " +
				"encryption.")
			return nil
		}, ""},
		{"checkMetadataConsistency", "options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.host.Cursors.RunCommand(coll.database, c.JS.Merge(bson.D{{Key: "checkMetadataConsistency",
				Value: coll.name}}, c.Arg(0)))
		}, "Checks the sharding metadata of the collection for inconsistencies."},
	}
}

// listCollectionsEntry returns the collection's entry in listCollections; nil when there is
// none.
func (coll *Collection) listCollectionsEntry() bson.Raw {
	infos := coll.database.ListCollections(rawdoc.MustMarshal(bson.D{{Key: "name", Value: coll.name}}), false, nil)
	if len(infos) == 0 {
		return nil
	}
	return infos[0]
}

func collDrop(c *script.Call, coll *Collection) goja.Value {
	_, err := coll.host.Gateway.Send(coll.database.Request(c.JS.Merge(bson.D{{Key: "drop", Value: coll.name}}, c.Arg(0))))
	if server.CodeOf(err) == mongoerr.NamespaceNotFound {
		return c.JS.Runtime.ToValue(false)
	}
	if err != nil {
		coll.host.Gateway.Throw(err)
	}
	return c.JS.Runtime.ToValue(true)
}

func collRename(c *script.Call, coll *Collection) goja.Value {
	coll.database.RunAdmin(bson.D{
		{Key: "renameCollection", Value: coll.Namespace()},
		{Key: "to", Value: coll.database.Name + "." + c.Text(0)},
		{Key: "dropTarget", Value: c.Arg(1).ToBoolean()},
	})
	return c.JS.NewObject("ok", 1)
}

func collIsCapped(c *script.Call, coll *Collection) goja.Value {
	info := coll.listCollectionsEntry()
	if info == nil {
		c.JS.Throw(script.RuntimeErrorName, "collection %s not found", coll.Namespace())
	}
	return c.JS.Runtime.ToValue(rawdoc.IsFieldTruthy(info, "options", "capped"))
}

// collSize sums one size over all shards.
func collSize(name, field string) func(*script.Call, *Collection) goja.Value {
	return func(c *script.Call, coll *Collection) goja.Value {
		if len(c.Args) > 0 {
			c.JS.ThrowInvalid("\"%s\" takes no argument. Use db.collection.stats to get detailed information.", name)
		}
		docs := coll.database.AggregateAll(coll.name,
			bson.D{{Key: "$collStats", Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}},
			bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil},
				{Key: "value", Value: bson.D{{Key: "$sum", Value: field}}}}}},
		)
		if len(docs) == 0 {
			return c.JS.Runtime.ToValue(0)
		}
		return c.JS.Values.ToJS(docs[0].Lookup("value"))
	}
}
