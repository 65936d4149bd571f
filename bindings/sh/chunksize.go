package sh

import (
	"fmt"
	"math"

	"shardsh/balancer/catalog"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// The limits of a chunk size, in MiB (rules/03-catalog-and-keys §3.6).
const (
	minChunkSizeMiB = 1
	maxChunkSizeMiB = 1024
)

// chunkSizeArgument returns a valid size in MiB, or throws.
func (c *call) chunkSizeArgument(label, name string, v goja.Value) int32 {
	mb, ok := c.asNumber(v)
	if !ok || mb != math.Trunc(mb) || mb < minChunkSizeMiB || mb > maxChunkSizeMiB {
		c.ThrowArgument(label, name, fmt.Sprintf("a whole number of MB from %d to %d", minChunkSizeMiB, maxChunkSizeMiB),
			c.host.Display.Inspect(v))
	}
	return int32(mb)
}

// shChunkSize reads or sets the chunk size of the cluster, or of a collection.
func shChunkSize(c *call, sh *Helpers) goja.Value {
	switch kind := script.TypeOf(c.Arg(0)); {
	case !c.Has(0):
		return c.JS.Runtime.ToValue(sh.chunkSizeMiB(nil, c.host.setting(sh.config(), "chunksize")))
	case kind == "string", isCollection(c.Arg(0)):
		return c.readOrSetCollectionChunkSize(sh, c.namespaceArgument(0))
	}
	mb := c.chunkSizeArgument("Shard.chunkSize", "nsOrMB", c.Arg(0))
	update := bson.D{{Key: "$set", Value: bson.D{{Key: "value", Value: mb}}}}
	return c.updateSetting(sh.config(), "chunksize", update)
}

func isCollection(v goja.Value) bool {
	_, ok := script.Receiver[Collection](v)
	return ok
}

// readOrSetCollectionChunkSize reads or sets a collection's chunk size; null resets it to the cluster's.
func (c *call) readOrSetCollectionChunkSize(sh *Helpers, ns string) goja.Value {
	if !c.Has(1) {
		return c.JS.Runtime.ToValue(sh.chunkSizeMiB(sh.requireEntry(ns), c.host.setting(sh.config(), "chunksize")))
	}
	mb := int32(0)
	if !goja.IsNull(c.Arg(1)) {
		mb = c.chunkSizeArgument("Shard.chunkSize", "mb", c.Arg(1))
	}
	sh.requireVersion("chunkSize for one collection", defragmentVersion, "")
	return c.host.Display.ReplyValue(sh.configureBalancing(ns, bson.E{Key: "chunkSize", Value: mb}))
}

// chunkSizeMiB returns the size in MiB that the balancer uses: the collection's own, the cluster's
// setting, or the server's default.
func (h *Helpers) chunkSizeMiB(entry, setting bson.Raw) float64 {
	if own := rawdoc.Number(entry, "maxChunkSizeBytes"); own > 0 {
		return own / (1 << 20)
	}
	if setting != nil {
		return rawdoc.Number(setting, "value")
	}
	if h.version().AtLeast(catalog.ServerVersion{Major: 6}) {
		return 128
	}
	return 64
}

func megabytesText(mb float64) string { return fmt.Sprintf("%s MB", plaintext.JSNumber(mb)) }
