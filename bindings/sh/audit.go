package sh

import (
	"strings"

	"shardsh/balancer/action"
	"shardsh/bindings/actiontext"

	"github.com/dop251/goja"
)

// shardAuditMethods returns the helpers that find misplaced data.
func shardAuditMethods() []helper {
	return []helper{
		{"audit", "ns?:string|object options?:object{metadata,sample,export,checkpoint,settle,settlePause,maxRate," +
			"pauseBetween,for,secondary,progress}", shAudit,
			"Returns what lies on shards where it should not, with the commands that mend it: orphans, documents that exist " +
				"nowhere else, indexes and options that differ, gaps of chunks: {verdict: \"clean\", \"findings\" or " +
				"\"unknown\", findings}. {metadata: true, sample: 1000, export: directory, checkpoint: file, settle: 3, " +
				"maxRate: \"50MB\", pauseBetween, for, secondary: true}."},
	}
}

func shAudit(c *call, sh *Helpers) goja.Value {
	names, at := c.namespacesArgument("audit")
	h := c.options("audit", at)
	verb := action.Audit{Namespaces: names}
	verb.MetadataOnly, verb.ExportDir = h.flag("metadata", false), h.text("export")
	verb.MaxRereads, verb.RereadPause = action.DefaultMaxRereads, h.duration("settlePause", action.DefaultRereadPause)
	verb.MaxBytesPerSecond, verb.PauseBetween, verb.MaxDuration = h.size("maxRate"), h.duration("pauseBetween", 0),
		h.duration("for", 0)
	verb.Secondary = h.flag("secondary", false)
	if h.value("settle") != nil {
		verb.MaxRereads = int(h.count("settle"))
	}
	if h.value("sample") != nil {
		verb.SampleDocs = h.count("sample")
	}
	verb.CheckpointFile = h.text("checkpoint")
	for _, path := range []string{verb.ExportDir, verb.CheckpointFile} {
		if path != "" {
			c.checkMayWrite(path)
		}
	}
	r, _, leave := c.newReporter(h)
	result, err := verb.Run(c.JS.Context(), c.cluster(sh), r)
	leave()
	if err != nil {
		sh.throwActionError("audit", nil, err, "", false)
	}
	object := c.host.jsonFormObject(result)
	lines := actiontext.AuditResult(result)
	if result.Stopped != "" {
		lines = append(lines, "Stopped: "+result.Stopped)
	}
	text := strings.Join(lines, "\n")
	c.JS.Values.SetPrinter(object, func() string { return text })
	return object
}
