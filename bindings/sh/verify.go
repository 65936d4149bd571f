package sh

import (
	"strings"

	"shardsh/balancer/action"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

// shardVerifyMethods returns the helpers that verify that no document was lost.
func shardVerifyMethods() []helper {
	return []helper{
		{"verify", "ns:string|object options?:object{against,output,documents,differences,settle,settlePause,maxRate," +
			"pauseBetween,for,secondary,restart,progress}", shVerify,
			"Returns a digest of a collection's documents; {against: digest or file} compares with an earlier one: " +
				"{verdict: \"same\", \"explained\" by writes, \"written\", \"different\"}. {output: file, " +
				"documents: file with all _ids, differences: file, settle: 3, maxRate: \"50MB\", pauseBetween, for, " +
				"secondary: true, restart: true}."},
	}
}

func shVerify(c *call, sh *Helpers) goja.Value {
	h := c.options("verify", 1)
	verb := action.Verify{
		Namespaces: []string{c.namespaceArgument(0)}, Output: h.text("output"),
		Differences: h.text("differences"), Documents: h.text("documents"),
		Settle: action.DefaultSettle, SettlePause: h.duration("settlePause", action.DefaultSettlePause),
		MaxRate: h.size("maxRate"), PauseBetween: h.duration("pauseBetween", 0), For: h.duration("for", 0),
		Secondary: h.flag("secondary", false), Restart: h.flag("restart", false),
	}
	if h.value("settle") != nil {
		verb.Settle = int(h.count("settle"))
	}
	h.readAgainst(&verb)
	written := []string{verb.Output, verb.Differences}
	if h.value("against") == nil {
		written = append(written, verb.Documents)
	} else if verb.Documents != "" {
		c.checkMayRead(verb.Documents)
	}
	for _, path := range written {
		if path != "" {
			c.checkMayWrite(path)
		}
	}
	if verb.Against != "" {
		c.checkMayRead(verb.Against)
		verb.NoPart = c.host.Sandbox.CheckWrite() != nil
	}
	r, _, leave := c.newReporter(h)
	result, err := verb.Run(c.JS.Context(), c.cluster(sh), r)
	leave()
	if err != nil {
		sh.throwActionError("verify", nil, err, "", false)
	}
	object := c.host.fromJSON(result)
	if result.Verdict == action.VerdictDigest {
		script.Define(object, "digest", c.JS.Runtime.ToValue(result.Text))
	}
	lines := actiontext.VerifyResult(result)
	if result.Stopped != "" {
		lines = append(lines, "Stopped: "+result.Stopped)
	}
	text := strings.Join(lines, "\n")
	c.JS.Values.SetPrinter(object, func() string { return text })
	return object
}

// readAgainst reads the digest to compare with: a file, or the result of an earlier call.
func (h helperOptions) readAgainst(verb *action.Verify) {
	const wanted = "a file, or what sh.verify returned"
	switch v := h.value("against").(type) {
	case nil:
	case *goja.Object:
		digest := script.Property(v, "digest")
		if digest == nil || !goja.IsString(digest) {
			h.throwWrongOption("against", wanted, h.c.host.Display.Inspect(v))
		}
		verb.Digest = digest.String()
	default:
		if !goja.IsString(v) {
			h.throwWrongOption("against", wanted, h.c.host.Display.Inspect(v))
		}
		verb.Against = v.String()
	}
}
