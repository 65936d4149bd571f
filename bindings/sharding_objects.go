package bindings

import (
	"shardsh/bindings/cursor"
	"shardsh/bindings/database"
	"shardsh/bindings/server"
	"shardsh/bindings/write"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// shardingObjects creates the objects that sh returns.
type shardingObjects struct {
	current *database.Current
	cursors *cursor.Host
}

// Database returns the object of a sibling of the current database.
func (o shardingObjects) Database(d *server.Database) goja.Value {
	return o.current.DB.SiblingDatabase(d.Name).Object()
}

// Cursor returns the object of a cursor; start sends its command.
func (o shardingObjects) Cursor(d *server.Database, command bson.D) (object goja.Value, start func()) {
	of := o.current.DB.SiblingDatabase(d.Name)
	switch command[0].Key {
	case "find":
		cur := o.cursors.New(of, cursor.Find, command)
		cur.Collection, _ = command[0].Value.(string)
		return cur.Object, func() { cur.HasNext() }
	case "aggregate":
		cur := o.cursors.New(of, cursor.Aggregate, command)
		return cur.Object, func() { cur.HasNext() }
	}
	cur := o.cursors.New(of, cursor.Command, command)
	cur.IsReadOnly = false
	return cur.Object, cur.Open
}

// Update sends an update with one statement.
func (o shardingObjects) Update(d *server.Database, collection string, statement,
	writeConcern bson.Raw) (*goja.Object, int64) {
	ops := []write.Op{{Kind: write.Update, Doc: statement}}
	coll := o.current.DB.SiblingDatabase(d.Name).Collection(collection)
	w := coll.Write(ops, write.Options{Concern: writeConcern})
	results := coll.Results()
	results.ThrowFailures(w, ops, false)
	return results.UpdateResult(w), w.Matched
}
