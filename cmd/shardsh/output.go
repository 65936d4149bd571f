package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/term"

	"shardsh/bindings"
	"shardsh/bindings/script"
)

// print shows a result as the shell does, or as extended JSON.
func (env environment) print(ctx context.Context, o commandLine, shell *bindings.Shell, result script.Result) error {
	if o.wantsJSON() {
		return shell.WriteJSON(ctx, env.stdout, result, bindings.JSONStyle{Canonical: o.json == "canonical", Lines: o.jsonl,
			Limit: o.limit})
	}
	text, err := shell.Render(ctx, result)
	if err != nil || text == "" {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, text)
	return err
}

func (o commandLine) wantsJSON() bool { return o.json != "" || o.jsonl }

// report tells about a script's error as a document, where JSON was asked
// for (spec 04 §1.8).
func (env environment) report(o commandLine, err error) error {
	if !o.wantsJSON() {
		return err
	}
	doc := bson.D{{Key: "ok", Value: 0}}
	var thrown *script.Error
	var timeout timeoutError
	switch {
	case errors.As(err, &thrown):
		doc = append(doc, bson.E{Key: "name", Value: thrown.Name}, bson.E{Key: "message", Value: redact(thrown.Message)})
		if thrown.Code != 0 {
			doc = append(doc, bson.E{Key: "code", Value: thrown.Code}, bson.E{Key: "codeName", Value: thrown.CodeName},
				bson.E{Key: "errmsg", Value: redact(thrown.Message)})
		}
		if at := thrown.At(); at != "" {
			doc = append(doc, bson.E{Key: "at", Value: at})
		}
	case errors.As(err, &timeout):
		doc = append(doc, bson.E{Key: "name", Value: "Timeout"}, bson.E{Key: "message", Value: timeout.Error()})
	default:
		return err
	}
	text, marshalErr := bson.MarshalExtJSONIndent(doc, false, false, "", "  ")
	if o.jsonl {
		text, marshalErr = bson.MarshalExtJSON(doc, false, false)
	}
	if marshalErr != nil {
		return err
	}
	fmt.Fprintln(env.toldJSON(), string(text))
	return reportedError{err}
}

func isTerminal(r any) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// color reports whether to colour: only on a terminal that has it, and not
// where NO_COLOR forbids it.
func (env environment) color() bool {
	noColor, _ := env.getenv("NO_COLOR")
	terminal, _ := env.getenv("TERM")
	return isTerminal(env.stdout) && noColor == "" && terminal != "dumb"
}
