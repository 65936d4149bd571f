package main

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// printResult prints a result as the shell does, or as extended JSON.
func printResult(
	ctx context.Context, env environment, o *shellFlags, shell *bindings.Shell, result script.Result,
) error {
	if o.wantsJSON() {
		return shell.WriteJSON(ctx, env.stdout, result, bindings.JSONStyle{Canonical: o.json == "canonical", Lines: o.jsonl,
			Limit: int(o.limit.Value)})
	}
	text, err := shell.Render(ctx, result)
	if err != nil || text == "" {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, text)
	return err
}

// reportError prints an error, as a document if JSON output was requested
// (rules/04-command-line-and-prompt §1.8). This includes errors from before the script.
func reportError(ctx context.Context, env environment, o *shellFlags, err error) error {
	var quit *script.ExitError
	if err == nil || !o.wantsJSON() || ctx.Err() != nil || errors.As(err, &quit) || errors.As(err, new(signalError)) {
		return err
	}
	doc := append(bson.D{{Key: "ok", Value: 0}}, errorFields(err)...)
	text, marshalErr := bson.MarshalExtJSONIndent(doc, false, false, "", "  ")
	if o.jsonl {
		text, marshalErr = bson.MarshalExtJSON(doc, false, false)
	}
	if marshalErr != nil {
		return err
	}
	fmt.Fprintln(env.jsonOut(), string(text))
	return reportedError{err}
}

// errorFields returns the fields of an error's document.
func errorFields(err error) bson.D {
	var thrown *script.Error
	var timeout timeoutError
	var connecting target.ConnectionError
	var usage usageError
	named := func(name string) bson.D {
		return bson.D{{Key: "name", Value: name}, {Key: "message",
			Value: secret.Redact(live.ShortenUnauthorized(err.Error()))}}
	}
	switch {
	case errors.As(err, &thrown):
		doc := append(bson.D{{Key: "name", Value: thrown.Name}, {Key: "message", Value: secret.Redact(thrown.Message)}},
			codeFields(thrown.Code, thrown.CodeName, thrown.Message)...)
		if at := thrown.Position(); at != "" {
			doc = append(doc, bson.E{Key: "at", Value: at})
		}
		return doc
	case errors.As(err, &timeout):
		return named("Timeout")
	case errors.As(err, &connecting):
		code := mongoerr.Code(connecting.Code)
		return append(named(connecting.Name()),
			codeFields(connecting.Code, (&mongoerr.ServerError{Code: code}).CodeName(), connecting.Message)...)
	case errors.As(err, &usage):
		return named("UsageError")
	}
	return named("Error")
}

// codeFields returns the fields of a server's error; none for other errors.
func codeFields(code int32, name, message string) bson.D {
	if code == 0 {
		return nil
	}
	return bson.D{
		{Key: "code", Value: code}, {Key: "codeName", Value: name}, {Key: "errmsg", Value: secret.Redact(message)},
	}
}
