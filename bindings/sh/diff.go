package sh

import (
	"github.com/dop251/goja"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/live"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/script"
)

// shardDiffMethods returns the helpers that compare snapshots.
func shardDiffMethods() []helper {
	return []helper{
		{"diff", "before:string|object after?:string|object|null options?:object{ignore,ns}", shDiff,
			"Returns what has changed between two snapshots: objects of sh.snapshot(), or files of \"shardsh snapshot\". " +
				"Without the second, the cluster as it is now."},
	}
}

// shDiff returns the changes as an object, which prints as the text of "shardsh diff".
func shDiff(c *call, sh *Helpers) goja.Value {
	o := c.options("diff", 2)
	verb := action.Diff{Ignore: o.texts("ignore"), Namespaces: o.texts("ns")}
	if err := verb.Validate(); err != nil {
		sh.throwActionError("diff", nil, err, "", false)
	}
	was := c.snapshotArgument(0, "before")
	var is *catalog.Snapshot
	if c.Has(1) && !goja.IsNull(c.Arg(1)) {
		is = c.snapshotArgument(1, "after")
	} else {
		is = sh.readSnapshot(live.ReaderOptions{Parts: live.DefaultPartsAndStatus})
	}
	result, err := verb.Run(was, is)
	if err != nil {
		sh.throwActionError("diff", nil, err, "", false)
	}
	return c.host.printableWithFullText(result, func(long bool) string { return actiontext.Diff(result, long) })
}

// snapshotKey is the symbol under which the object of sh.snapshot() stores its Snapshot, with all
// chunks.
var snapshotKey = goja.NewSymbol("shardsh.snapshot")

// keptSnapshot is the stored form of the Snapshot, which scripts cannot use.
type keptSnapshot struct{ snapshot *catalog.Snapshot }

func keepSnapshot(c *call, o *goja.Object, s *catalog.Snapshot) {
	script.Must(o.DefineDataPropertySymbol(snapshotKey, c.JS.Runtime.ToValue(&keptSnapshot{s}), goja.FLAG_FALSE,
		goja.FLAG_FALSE, goja.FLAG_FALSE))
}

// snapshotArgument returns the snapshot in a file, or in the object of sh.snapshot().
func (c *call) snapshotArgument(i int, name string) *catalog.Snapshot {
	if goja.IsString(c.Arg(i)) {
		return c.readSnapshotFile(c.Text(i))
	}
	if o, is := c.Arg(i).(*goja.Object); is {
		if v := o.GetSymbol(snapshotKey); v != nil {
			if kept, ok := v.Export().(*keptSnapshot); ok {
				return kept.snapshot
			}
		}
	}
	c.ThrowArgument("Shard.diff", name, "an object of sh.snapshot() or the name of a file",
		c.host.Display.Inspect(c.Arg(i)))
	return nil
}

func (c *call) readSnapshotFile(path string) *catalog.Snapshot {
	c.checkMayRead(path)
	s, err := snapfile.Open(path, snapfile.Limits{})
	if err != nil {
		c.JS.Throw(script.RuntimeErrorName, "%s: %s", path, err)
	}
	return s
}
