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
		DifferencesFile: h.text("differences"), DocumentsFile: h.text("documents"),
		MaxRereads: action.DefaultMaxRereads, RereadPause: h.duration("settlePause", action.DefaultRereadPause),
		MaxBytesPerSecond: h.size("maxRate"), PauseBetween: h.duration("pauseBetween", 0), MaxDuration: h.duration("for", 0),
		Secondary: h.flag("secondary", false), Restart: h.flag("restart", false),
	}
	if h.value("settle") != nil {
		verb.MaxRereads = int(h.count("settle"))
	}
	h.readExpectedDigest(&verb)
	written := []string{verb.Output, verb.DifferencesFile}
	if h.value("against") == nil {
		written = append(written, verb.DocumentsFile)
	} else if verb.DocumentsFile != "" {
		c.checkMayRead(verb.DocumentsFile)
	}
	for _, path := range written {
		if path != "" {
			c.checkMayWrite(path)
		}
	}
	if verb.BaselineFile != "" {
		c.checkMayRead(verb.BaselineFile)
		verb.NoProgressFile = c.host.Sandbox.CheckWrite() != nil
	}
	r, _, leave := c.newReporter(h)
	result, err := verb.Run(c.JS.Context(), c.cluster(sh), r)
	leave()
	if err != nil {
		sh.throwActionError("verify", nil, err, "", false)
	}
	object := c.host.jsonFormObject(result)
	if result.Verdict == action.VerifyNotCompared {
		script.Define(object, "digest", c.JS.Runtime.ToValue(result.DigestText))
	}
	lines := actiontext.VerifyResult(result)
	if result.Stopped != "" {
		lines = append(lines, "Stopped: "+result.Stopped)
	}
	text := strings.Join(lines, "\n")
	c.JS.Values.SetPrinter(object, func() string { return text })
	return object
}

// readExpectedDigest reads the digest to compare with: a file, or the result of an earlier call.
func (h helperOptions) readExpectedDigest(verb *action.Verify) {
	const wanted = "a file, or what sh.verify returned"
	switch v := h.value("against").(type) {
	case nil:
	case *goja.Object:
		digest := script.Property(v, "digest")
		if digest == nil || !goja.IsString(digest) {
			h.throwWrongOption("against", wanted, h.call.host.Display.Inspect(v))
		}
		verb.BaselineDigest = digest.String()
	default:
		if !goja.IsString(v) {
			h.throwWrongOption("against", wanted, h.call.host.Display.Inspect(v))
		}
		verb.BaselineFile = v.String()
	}
}
