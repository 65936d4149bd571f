// Package write implements inserts, updates and deletes: the statements of scripts, the commands for
// them, and the results.
package write

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"
)

// Kind is one of the three commands that write.
type Kind uint8

// The kinds.
const (
	Insert Kind = iota
	Update
	Delete
)

var writeCommands = [...]struct{ name, list string }{
	Insert: {"insert", "documents"},
	Update: {"update", "updates"},
	Delete: {"delete", "deletes"},
}

// Op is one document to insert, one update statement, or one delete statement.
type Op struct {
	Kind  Kind
	Doc   bson.Raw
	Index int  // in the script's batch
	multi bool // affects several documents, so it is never retried
}

// Options are the options of a batch of writes.
type Options struct {
	Unordered bool
	Concern   bson.Raw // nil for that of the collection
	Extra     bson.D   // fields of each command: let, comment, …
}

// The server's limits of one command: operations, and bytes of its document.
const (
	maxBatchOps   = 100_000
	maxBatchBytes = 16_000_000
)

// Result sums the replies of the commands of a batch.
type Result struct {
	inserted, Matched, modified, deleted int64
	upserted                             []upsert
	failures                             []failure
	writeConcernErr                      bson.Raw // writeConcernError
	writeConcernReply                    bson.Raw // the reply with writeConcernErr
	unacknowledged                       bool
	unordered                            bool
}

type upsert struct {
	index int
	id    bson.RawValue
}

type failure struct {
	raw   bson.Raw
	index int
	op    Op
}

// failedIndexes returns the positions of the operations that failed: of an unordered batch, there may
// be many.
func (r *Result) failedIndexes() map[int]bool {
	failed := make(map[int]bool, len(r.failures))
	for _, f := range r.failures {
		failed[f.index] = true
	}
	return failed
}

// Target is the destination of writes.
type Target struct {
	Gateway    *server.Gateway
	Database   *server.Database
	Collection string
	Concern    bson.Raw // for writes without their own; nil for the server's default
	// InTransaction leaves the write concern to the transaction.
	InTransaction bool
}

// Send sends operations: consecutive ones of a kind together when ordered, all of a kind together when
// not (rules/04-objects §6.3). It throws errors of whole commands; write errors are in the result.
func (t Target) Send(ops []Op, opts Options) *Result {
	result := &Result{unordered: opts.Unordered}
	concern := opts.Concern
	if concern == nil {
		concern = t.Concern
	}
	if t.InTransaction {
		concern = nil
	}
	result.unacknowledged = IsUnacknowledged(concern)
	if opts.Unordered {
		ops = slices.Clone(ops)
		slices.SortStableFunc(ops, func(a, b Op) int { return int(a.Kind) - int(b.Kind) })
	}
	for len(ops) > 0 {
		n := batchLength(ops)
		t.sendBatch(ops[:n], opts, concern, result)
		if len(result.failures) > 0 && !opts.Unordered {
			break
		}
		ops = ops[n:]
	}
	return result
}

// IsUnacknowledged reports whether a write concern asks for no answer.
func IsUnacknowledged(concern bson.Raw) bool {
	n, isNumber := concern.Lookup("w").AsInt64OK()
	return isNumber && n == 0
}

// batchLength returns how many of the first operations fit in one command.
func batchLength(ops []Op) int {
	bytes := 0
	for i, op := range ops {
		bytes += len(op.Doc) + 16 // type, array index and terminator
		if i > 0 && (op.Kind != ops[0].Kind || i == maxBatchOps || bytes > maxBatchBytes) {
			return i
		}
	}
	return len(ops)
}

func (t Target) sendBatch(ops []Op, opts Options, concern bson.Raw, result *Result) {
	cmd := writeCommands[ops[0].Kind]
	list := rawdoc.DocumentArray(len(ops), func(i int) bson.Raw { return ops[i].Doc })
	once := !slices.ContainsFunc(ops, func(op Op) bool { return op.multi })
	body := bson.D{{Key: cmd.name, Value: t.Collection}, {Key: cmd.list, Value: list},
		{Key: "ordered", Value: !opts.Unordered}}
	body = append(body, opts.Extra...)
	if concern != nil {
		body = append(body, bson.E{Key: "writeConcern", Value: concern})
	}
	r := t.Database.Request(body)
	send := t.Gateway.Send
	if once && !result.unacknowledged {
		send = t.Gateway.SendRetryable
	}
	reply, err := send(r)
	if err != nil {
		t.Gateway.Throw(err)
	}
	result.add(reply, ops)
}

// add adds the reply to one command.
func (r *Result) add(reply bson.Raw, ops []Op) {
	n := rawdoc.Int(reply, "n")
	var upserted int64
	if list, ok := reply.Lookup("upserted").ArrayOK(); ok {
		values, _ := list.Values()
		for _, v := range values {
			doc, _ := v.DocumentOK()
			upserted++
			if i := int(rawdoc.Int(doc, "index")); i >= 0 && i < len(ops) {
				r.upserted = append(r.upserted, upsert{index: ops[i].Index, id: doc.Lookup("_id")})
			}
		}
	}
	switch ops[0].Kind {
	case Insert:
		r.inserted += n
	case Update:
		r.Matched += n - upserted
		r.modified += rawdoc.Int(reply, "nModified")
	case Delete:
		r.deleted += n
	}
	if list, ok := reply.Lookup("writeErrors").ArrayOK(); ok {
		values, _ := list.Values()
		for _, v := range values {
			doc, _ := v.DocumentOK()
			i := int(rawdoc.Int(doc, "index"))
			if i < 0 || i >= len(ops) {
				i = 0
			}
			r.failures = append(r.failures, failure{raw: doc, index: ops[i].Index, op: ops[i]})
		}
	}
	if doc, ok := reply.Lookup("writeConcernError").DocumentOK(); ok && r.writeConcernErr == nil {
		r.writeConcernErr, r.writeConcernReply = doc, reply
	}
}
