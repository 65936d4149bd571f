package server

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
)

// Throw throws the driver's error as a JavaScript error (rules/04-values-and-language §3.5).
func (g *Gateway) Throw(err error) { panic(g.ErrorOf(err)) }

// ErrorOf returns the JavaScript error for an error of the driver.
func (g *Gateway) ErrorOf(err error) *goja.Object {
	var command mongo.CommandError
	if errors.As(err, &command) && command.Raw != nil {
		return g.ServerError(command.Raw, command.Labels)
	}
	var refused *mongoerr.ServerError // from Config.Guard
	if errors.As(err, &refused) {
		e := g.JS.Values.Errors.New("MongoServerError", refused.Message)
		script.Must(e.Set("ok", 0))
		script.Must(e.Set("code", int64(refused.Code)))
		script.Must(e.Set("codeName", refused.CodeName()))
		g.AddLabels(e, nil)
		return e
	}
	name, message := DescribeConnectionError(err)
	if selection := (topology.ServerSelectionError{}); errors.As(err, &selection) {
		name = "MongoServerSelectionError" // a server that was available before is gone
	}
	e := g.JS.Values.Errors.New(name, message)
	errors.As(err, &command)
	g.AddLabels(e, command.Labels)
	return e
}

// SessionEndedText is the message for commands in a session that was ended.
const SessionEndedText = "Use of expired sessions is not permitted"

// ServerError returns a MongoServerError for a reply. The fields of the reply become fields of the
// error; codeName is missing if the server returned none.
func (g *Gateway) ServerError(reply bson.Raw, labels []string) *goja.Object {
	message := "n/a"
	if m, ok := reply.Lookup("errmsg").StringValueOK(); ok {
		message = m
	}
	code := mongoerr.Code(rawdoc.Int(reply, "code"))
	if code == mongoerr.NotPrimaryNoSecondaryOk && !strings.Contains(message, "db.runCommand") {
		message = "not primary - consider using db.getMongo().setReadPref() or readPreference in the connection string"
	}
	e := g.JS.Values.Errors.New("MongoServerError", message)
	g.AddLabels(e, labels)
	response := bson.D{}
	elems, _ := reply.Elements()
	for _, el := range elems {
		if !slices.Contains(display.ClusterTimeFields, el.Key()) {
			response = append(response, bson.E{Key: el.Key(), Value: el.Value()})
		}
	}
	script.Must(e.Set("errorResponse", g.JS.Values.DocToJS(rawdoc.MustMarshal(response))))
	for _, el := range elems {
		v := g.JS.Values.ToJS(el.Value())
		switch key := el.Key(); {
		case key == "errorLabels" || key == "message" || key == "name" || key == "stack":
		case key == "errmsg" || slices.Contains(display.ClusterTimeFields, key):
			script.Define(e, key, v)
		default:
			script.Must(e.Set(key, v))
		}
	}
	return e
}

// CheckWriteConcern throws if a reply reports that its write concern was not satisfied, as mongosh's driver does for
// every command (recording 22-secondaries).
func (g *Gateway) CheckWriteConcern(reply bson.Raw) {
	if concern, failed := reply.Lookup("writeConcernError").DocumentOK(); failed {
		panic(g.WriteConcernError(concern, reply))
	}
}

// WriteConcernError returns the error of a reply whose write concern was not satisfied.
func (g *Gateway) WriteConcernError(concern, reply bson.Raw) *goja.Object {
	e := g.ServerError(concern, nil)
	script.Must(e.SetPrototype(g.JS.Values.Errors.New("MongoWriteConcernError", "").Prototype()))
	script.Must(e.Set("result", g.JS.Values.DocToJS(reply)))
	return e
}

// WriteError makes a MongoServerError of one write error.
func (g *Gateway) WriteError(failure bson.Raw) *goja.Object { return g.ServerError(failure, nil) }

// AddLabels adds the server's error labels and hasErrorLabel to an error.
func (g *Gateway) AddLabels(e *goja.Object, labels []string) {
	set, err := g.JS.Runtime.New(g.JS.Runtime.GlobalObject().Get("Set"))
	if err != nil {
		g.JS.Rethrow(err)
	}
	add, _ := goja.AssertFunction(set.Get("add"))
	for _, l := range labels {
		if _, err := add(set, g.JS.Runtime.ToValue(l)); err != nil {
			g.JS.Rethrow(err)
		}
	}
	script.Must(e.Set("errorLabelSet", set))
	label := g.JS.Classes.BuildOnce("hasErrorLabel", func() *goja.Object {
		return g.JS.NewFunction("hasErrorLabel", func(c *script.Call) goja.Value {
			e, _ := c.This.(*goja.Object)
			set, _ := e.Get("errorLabelSet").(*goja.Object)
			if set == nil {
				return c.JS.Runtime.ToValue(false)
			}
			has, _ := goja.AssertFunction(set.Get("has"))
			v, err := has(set, c.Arg(0))
			if err != nil {
				c.JS.Rethrow(err)
			}
			return v
		})
	})
	script.Define(e, "hasErrorLabel", label)
}

// DescribeConnectionError returns the name and message for an error of the driver that is not a server's reply,
// in one line and without credentials (rules/04-command-line-and-prompt §1.11).
func DescribeConnectionError(err error) (name, message string) {
	var (
		server    driver.Error
		selection topology.ServerSelectionError
		dns       *net.DNSError
		op        *net.OpError
		command   mongo.CommandError
	)
	if errors.As(err, &server) && server.Code != 0 {
		return "MongoServerError", RedactedLine(server.Message)
	}
	if errors.As(err, &selection) {
		for _, srv := range selection.Desc.Servers {
			if srv.LastError == nil {
				continue
			}
			if errors.As(srv.LastError, &server) && server.Code != 0 {
				return "MongoServerError", RedactedLine(server.Message)
			}
			if errors.As(srv.LastError, &dns) || errors.As(srv.LastError, &op) {
				return DescribeConnectionError(srv.LastError)
			}
			return "MongoServerSelectionError", RedactedLine(srv.LastError.Error())
		}
		return "MongoServerSelectionError", "Server selection timed out"
	}
	switch {
	case err.Error() == "ended session was used":
		return "MongoExpiredSessionError", SessionEndedText
	case errors.As(err, &dns):
		return "MongoNetworkError", "getaddrinfo ENOTFOUND " + dns.Name
	case errors.As(err, &op) && op.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED):
		return "MongoNetworkError", fmt.Sprintf("connect ECONNREFUSED %s", op.Addr)
	case strings.Contains(err.Error(), "was cleared because another operation failed"):
		return "MongoPoolClearedError", "C" + strings.TrimPrefix(RedactedLine(err.Error()), "c")
	case errors.Is(err, mongo.ErrClientDisconnected):
		return "MongoNotConnectedError", "Client must be connected before running operations"
	case errors.As(err, &command) && command.HasErrorLabel("NetworkError"), mongo.IsNetworkError(err), errors.As(err, &op):
		return "MongoNetworkError", RedactedLine(err.Error())
	case mongo.IsTimeout(err):
		return "MongoNetworkTimeoutError", RedactedLine(err.Error())
	}
	return "MongoRuntimeError", RedactedLine(err.Error())
}

// CredentialsPattern matches credentials in addresses, with or without a scheme, which may be misspelled. The
// first group ends where the credentials begin. It may match too much, up to the last @.
var CredentialsPattern = regexp.MustCompile(`((?i:\b[a-z][a-z0-9+.-]*:/+))[^\s"'` + "`" + `]*@` +
	`|()[^\s"'` + "`" + `/@:,;(){}\[\]=]+:[^\s"'` + "`" + `]+@`)

// Redact replaces the user and password of every address in a text.
func Redact(text string) string { return CredentialsPattern.ReplaceAllString(text, "$1<credentials>@") }

// RedactedLine works like Redact, and joins the lines of the text.
func RedactedLine(text string) string {
	return Redact(strings.Join(strings.Fields(text), " "))
}

// CodeOf returns the server's code of an error; 0 without one.
func CodeOf(err error) mongoerr.Code {
	var command mongo.CommandError
	if errors.As(err, &command) {
		return mongoerr.Code(command.Code)
	}
	return 0
}

// ReplyOf returns the server's reply in an error; nil when there is none.
func ReplyOf(err error) bson.Raw {
	var command mongo.CommandError
	if errors.As(err, &command) {
		return command.Raw
	}
	return nil
}
