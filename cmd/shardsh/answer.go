package main

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/balancer/foreign"
)

// answerLine is the part of a subcommand's command line that says how to show
// what it found out.
type answerLine struct {
	sourceLine
	format string // text, json or what else the subcommand knows
	json   bool
	file   string
}

// flags returns the options of an answer in some formats, the usual one first.
func (o *answerLine) flags(f *pflag.FlagSet, formats ...string) {
	f.StringVar(&o.format, "output", formats[0], "`"+strings.Join(formats, "|")+"` how to print it")
	f.BoolVar(&o.json, "json", false, "the same as --output json")
	f.StringVarP(&o.file, "out-file", "o", "", "`FILE` write it there")
	o.sourceLine.flags(f)
}

// checkFormat refuses a format that the subcommand does not know.
func (o *answerLine) checkFormat(formats ...string) error {
	switch {
	case o.json && o.format != formats[0] && o.format != "json":
		return usagef("--json and --output %s exclude each other", o.format)
	case o.json:
		o.format = "json"
	case !slices.Contains(formats, o.format):
		return usagef("--output takes %s, not %q", strings.Join(formats, ", "), o.format)
	}
	return nil
}

// write has show write the answer where it is to go. A file is there as a whole
// or not at all; what is no file, such as /dev/null, is not replaced by one.
func (env environment) write(o answerLine, show func(io.Writer) error) error {
	if o.file == "" || o.file == "-" {
		to := env.told()
		if o.format == "json" {
			to = env.toldJSON()
		}
		return buffered(to, show)
	}
	return foreign.Replace(o.file, show)
}

// answer writes an answer as JSON, or its text.
func (env environment) answer(o answerLine, value any, text func() string) error {
	return env.write(o, func(to io.Writer) error {
		if o.format == "json" {
			return writeJSON(to, value)
		}
		_, err := io.WriteString(to, text())
		return err
	})
}

func buffered(to io.Writer, show func(io.Writer) error) error {
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
