package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/balancer/safefile"
)

// outputFlags are the output options of a subcommand.
type outputFlags struct {
	sourceFlags
	format      string // text, json or another format of the subcommand
	json        bool
	file        string
	isOptionSet func(option string) bool
}

// addFlags adds the output options with the given formats, the default first.
func (o *outputFlags) addFlags(f *pflag.FlagSet, formats ...string) {
	o.isOptionSet = func(option string) bool { return f.Changed(option) }
	f.StringVar(&o.format, "output", formats[0], "`"+strings.Join(formats, "|")+"` how to print it")
	f.BoolVar(&o.json, "json", false, "short for --output json")
	f.StringVarP(&o.file, "out-file", "o", "", "`FILE` write to this file")
	o.sourceFlags.addFlags(f)
}

// addAdvisoriesFlag adds the option that names a file of advisories.
func addAdvisoriesFlag(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "advisories", "", "`FILE` known faults of servers to add, or to mute, in YAML")
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkFormat returns an error for an unknown format, and for a file that can't be written, before the
// cluster is read. The default format of a file whose name ends with .json is JSON.
func (o *outputFlags) checkFormat(formats ...string) error {
	switch {
	case o.file != "" && !isDirectory(filepath.Dir(o.file)):
		return usagef("-o %s: there is no directory %s", o.file, filepath.Dir(o.file))
	case !o.isOptionSet("output") && filepath.Ext(o.file) == ".json" && slices.Contains(formats, "json"):
		o.format = "json"
	case o.json && o.format != formats[0] && o.format != "json":
		return usagef("--json and --output %s exclude each other", o.format)
	case o.json:
		o.format = "json"
	case !slices.Contains(formats, o.format):
		return usagef("--output takes %s, not %q", strings.Join(formats, ", "), o.format)
	}
	return nil
}

// write calls show with the destination of the answer. A regular file is replaced atomically; a device
// such as /dev/null is written to.
func (o *outputFlags) write(env environment, show func(io.Writer) error) error {
	if o.file == "" || o.file == "-" {
		to := env.out()
		if o.format == "json" {
			to = env.jsonOut()
		}
		return writeBuffered(to, show)
	}
	return safefile.Replace(o.file, show)
}

// print writes an answer as JSON, or its text.
func (o *outputFlags) print(env environment, value any, text func() string) error {
	return o.write(env, func(to io.Writer) error {
		if o.format == "json" {
			return writeJSON(to, value)
		}
		_, err := io.WriteString(to, text())
		return err
	})
}

func writeBuffered(to io.Writer, show func(io.Writer) error) error {
	b := bufio.NewWriter(to)
	if err := show(b); err != nil {
		return err
	}
	return b.Flush()
}

func writeJSON(to io.Writer, value any) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
