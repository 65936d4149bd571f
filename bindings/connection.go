package bindings

import (
	"context"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// Connections that scripts open, and logging in: Mongo(), connect(), db.auth().

// newMongoConstructor makes the global Mongo, which opens a connection.
func (s *Shell) newMongoConstructor() goja.Value {
	proto := prototype(s, "Mongo", mongoMethods())
	f := s.rt.ToValue(func(cc goja.ConstructorCall) *goja.Object {
		defer s.containFaults()
		c := &call{Shell: s, args: cc.Arguments}
		c.check("Mongo", parseSignature("uri?:string|object encryption?:object options?:object"))
		if o := c.object(1); o != nil && len(o.Keys()) > 0 {
			c.throwCoded(unimplemented, codeNotImplemented, "client-side field level encryption is not available in shardsh")
		}
		settings := c.settingsOf(c.arg(0))
		c.serverAPI(settings, c.object(2))
		return s.connect(settings).js()
	}).(*goja.Object)
	must(f.DefineDataProperty("name", s.rt.ToValue("Mongo"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(f.Set("prototype", proto))
	return f
}

// settingsOf are the settings of a connection: of an address, or those of a
// connection or database that is there.
func (c *call) settingsOf(v goja.Value) *options.ClientOptions {
	var from *mongoObject
	if m, ok := receiver[*mongoObject](v); ok {
		from = m
	} else if d, ok := receiver[*database](v); ok {
		from = d.on
	}
	switch {
	case from != nil && from.settings != nil:
		settings := *from.settings
		return &settings
	case goja.IsUndefined(v):
		return c.addressed("mongodb://localhost:27017")
	case !goja.IsString(v):
		c.throwInvalid("Mongo takes a connection string, a connection or a database")
	}
	return c.addressed(v.String())
}

// addressed are the settings of a connection string, which may lack its scheme.
func (c *call) addressed(uri string) *options.ClientOptions {
	switch scheme, _, found := strings.Cut(uri, "://"); {
	case !found:
		uri = "mongodb://" + uri
	case scheme != "mongodb" && scheme != "mongodb+srv":
		c.throwInvalid("Invalid URI: %s", Redact(uri))
	}
	if c.cfg.ClientOptions != nil {
		settings, err := c.cfg.ClientOptions(c.ctx, uri)
		if err != nil {
			c.throw("MongoParseError", "%s", oneLine(err.Error()))
		}
		return settings
	}
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		c.throw("MongoParseError", "%s", oneLine(err.Error()))
	}
	mode := connstring.ServerMonitoringModePoll
	if parsed.ServerMonitoringMode != "" {
		mode = parsed.ServerMonitoringMode // ApplyURI does not copy it
	}
	return options.Client().ApplyURI(uri).SetServerMonitoringMode(mode)
}

// serverAPI takes over {api: {version, strict, deprecationErrors}}.
func (c *call) serverAPI(settings *options.ClientOptions, o *goja.Object) {
	v := property(o, "api")
	if v == nil {
		return
	}
	version := options.ServerAPIVersion(v.String())
	spec, _ := v.(*goja.Object)
	if spec != nil {
		version = options.ServerAPIVersion(optionalText(spec.Get("version")))
	}
	if version != options.ServerAPIVersion1 {
		c.throw("MongoInvalidArgumentError", "Invalid server API version=%s; must be in the following enum: [\"1\"]", version)
	}
	api := options.ServerAPI(version)
	if strict := property(spec, "strict"); strict != nil {
		api.SetStrict(strict.ToBoolean())
	}
	if errs := property(spec, "deprecationErrors"); errs != nil {
		api.SetDeprecationErrors(errs.ToBoolean())
	}
	settings.SetServerAPIOptions(api)
}

// connectDatabase is connect(uri[, user[, password]]): a database of a new
// connection.
func (c *call) connectDatabase() goja.Value {
	settings := c.settingsOf(c.arg(0))
	parsed, _ := connstring.Parse(settings.GetURI())
	name := "test"
	if parsed != nil && parsed.Database != "" {
		name = parsed.Database
	}
	if c.has(1) {
		as := options.Credential{Username: c.text(1), Password: c.passwordArgument(2), PasswordSet: true}
		if settings.Auth != nil {
			as.AuthSource, as.AuthMechanism = settings.Auth.AuthSource, settings.Auth.AuthMechanism
		} else if name != "test" {
			as.AuthSource = name
		}
		settings.SetAuth(as)
	}
	return c.connect(settings).checkedDatabase(name).object
}

// connect opens another connection.
func (s *Shell) connect(settings *options.ClientOptions) *mongoObject {
	client := s.openClient(settings)
	m := newMongoObject(s, client, settings.GetURI())
	m.own, m.settings = true, settings
	s.opened.add(client, m)
	return m
}

// openClient connects, and makes sure that somebody answers.
func (s *Shell) openClient(settings *options.ClientOptions) *mongo.Client {
	client, err := mongo.Connect(settings)
	if err == nil {
		if err = client.Ping(s.ctx, nil); err != nil {
			_ = client.Disconnect(context.WithoutCancel(s.ctx))
		}
	}
	if err != nil {
		if s.ctx.Err() != nil {
			s.abort(context.Cause(s.ctx))
		}
		s.throwUnreachable(err)
	}
	return client
}

// throwUnreachable is throwServer for a server that was never reached.
func (s *Shell) throwUnreachable(err error) {
	e := s.errorOf(err)
	if name, _ := ConnectionError(err); name == "MongoNetworkError" {
		must(e.SetPrototype(s.world.NewError(name, "").Prototype()))
	}
	panic(e)
}

// dbAuth is db.auth(user[, password]) and db.auth({user, pwd, mechanism}).
func dbAuth(c *call, d *database) goja.Value {
	var as options.Credential
	switch o := c.object(0); {
	case len(c.args) == 0 || len(c.args) > 2:
		c.throwInvalid("auth expects (username), (username, password), or ({ user: username, pwd: password })")
	case o != nil && len(c.args) == 1:
		as.Username, as.Password = optionalText(o.Get("user")), optionalText(o.Get("pwd"))
		as.AuthMechanism = optionalText(o.Get("mechanism"))
		if property(o, "digestPassword") != nil {
			c.throwCoded(unimplemented, codeNotImplemented, "digestPassword is not supported for authentication.")
		}
	default:
		as.Username, as.Password = optionalText(c.arg(0)), c.passwordArgument(1)
	}
	if (as.Username == "" || as.Password == "") && as.AuthMechanism == "" {
		c.throwInvalid("auth expects user document with at least 'user' and 'pwd' or 'mechanism' fields")
	}
	as.PasswordSet = as.Password != ""
	as.AuthSource = d.name
	c.cursor = nil
	c.login(d.on, as)
	return c.newObject("ok", 1)
}

// login connects again as a user. The old connection is kept when that fails.
func (c *call) login(m *mongoObject, as options.Credential) {
	if m.settings == nil {
		c.throwCoded(unimplemented, codeNotImplemented, "this connection cannot log in again; give the user in the connection string")
	}
	settings := *m.settings
	settings.SetAuth(as)
	client := c.openClient(&settings)
	if m.home != nil {
		m.home.driver.EndSession(context.WithoutCancel(c.ctx))
		m.home = nil
	}
	if m.own {
		_ = c.opened.disconnect(context.WithoutCancel(c.ctx), m.client)
	}
	m.own = true // the first client stays its owner's, this one is ours
	c.opened.add(client, m)
	m.client, m.settings = client, &settings
}

// passwordArgument is a password given as an argument, or typed by the user.
func (c *call) passwordArgument(i int) string {
	if c.has(i) {
		return c.text(i)
	}
	v := c.askPassword()
	if v == nil {
		c.throwInvalid("The password is missing: pass it, or passwordPrompt(), as an argument")
	}
	return v.String()
}

// askPassword asks the user through passwordPrompt(); nil when nobody can be
// asked.
func (c *call) askPassword() goja.Value {
	if !c.cfg.Interactive {
		return nil
	}
	ask, ok := goja.AssertFunction(c.rt.GlobalObject().Get("passwordPrompt"))
	if !ok {
		return nil
	}
	v, err := ask(goja.Undefined())
	if err == nil {
		v, err = c.settle(v)
	}
	if err != nil {
		c.rethrow(err)
	}
	return v
}

// endHomeSessions ends the sessions that commands belong to by default.
func (s *Shell) endHomeSessions(ctx context.Context) {
	for m := range s.opened.all() {
		if m.home != nil {
			m.home.driver.EndSession(ctx)
		}
	}
	if s.mongo != nil && s.mongo.home != nil && !s.mongo.own {
		s.mongo.home.driver.EndSession(ctx)
	}
}
