(function (encode, decode) {
  "use strict";
  class EventEmitter {
    on(name, f) { ((this._events ||= {})[name] ||= []).push(f); return this; }
    addListener(name, f) { return this.on(name, f); }
    prependListener(name, f) { this.on(name, f); const list = this._events[name]; list.unshift(list.pop()); return this; }
    once(name, f) { const g = (...args) => { this.off(name, g); return f.apply(this, args); }; g.listener = f; return this.on(name, g); }
    off(name, f) { const list = this._events?.[name] || []; const i = list.findLastIndex(g => g === f || g.listener === f); if (i >= 0) this._events[name] = list.toSpliced(i, 1); return this; }
    removeListener(name, f) { return this.off(name, f); }
    removeAllListeners(name) { if (name === undefined) this._events = {}; else if (this._events) delete this._events[name]; return this; }
    listeners(name) { return (this._events?.[name] || []).map(f => f.listener || f); }
    listenerCount(name) { return this.listeners(name).length; }
    eventNames() { return Object.keys(this._events || {}); }
    setMaxListeners() { return this; }
    emit(name, ...args) {
      const list = this._events?.[name] || [];
      if (name === "error" && !list.length) throw args[0] instanceof Error ? args[0] : new Error("Unhandled error. (" + args[0] + ")");
      for (const f of list) f.apply(this, args);
      return list.length > 0;
    }
  }
  EventEmitter.EventEmitter = EventEmitter;
  EventEmitter.once = (emitter, name) => new Promise((yes, no) => { emitter.once(name, (...args) => yes(args)); if (name !== "error") emitter.once("error", no); });
  class Event { constructor(type, init) { Object.assign(this, init); this.type = type; this.defaultPrevented = false; } preventDefault() { this.defaultPrevented = true; } }
  const targets = new WeakMap();
  class EventTarget {
    addEventListener(type, f, options) {
      if (!targets.has(this)) targets.set(this, new EventEmitter());
      const call = typeof f === "function" ? f : f.handleEvent.bind(f);
      if (options && options.once) targets.get(this).once(type, call); else targets.get(this).on(type, call);
    }
    removeEventListener(type, f) { targets.get(this)?.off(type, f); }
    dispatchEvent(event) { event.target = this; this["on" + event.type]?.(event); targets.get(this)?.emit(event.type, event); return !event.defaultPrevented; }
  }
  function failure(name, message) { const e = new Error(message); e.name = name; return e; }
  class AbortSignal extends EventTarget {
    aborted = false;
    reason = undefined;
    throwIfAborted() { if (this.aborted) throw this.reason; }
    static abort(reason) { const c = new AbortController(); c.abort(reason); return c.signal; }
    static timeout(ms) { const c = new AbortController(); setTimeout(() => c.abort(failure("TimeoutError", "The operation was aborted due to timeout")), ms); return c.signal; }
    static any(signals) { const c = new AbortController(); for (const s of signals) { if (s.aborted) c.abort(s.reason); else s.addEventListener("abort", () => c.abort(s.reason)); } return c.signal; }
  }
  class AbortController {
    signal = new AbortSignal();
    abort(reason) {
      if (this.signal.aborted) return;
      this.signal.aborted = true;
      this.signal.reason = reason === undefined ? failure("AbortError", "This operation was aborted") : reason;
      this.signal.dispatchEvent(new Event("abort"));
    }
  }
  const is = name => v => v instanceof globalThis[name];
  const types = { isDate: is("Date"), isRegExp: is("RegExp"), isMap: is("Map"), isSet: is("Set"), isPromise: is("Promise"), isNativeError: is("Error"), isUint8Array: is("Uint8Array") };
  function promisify(f) { return function (...args) { return new Promise((yes, no) => f.call(this, ...args, (e, v) => (e ? no(e) : yes(v)))); }; }
  return {
    types, promisify,
    EventEmitter, Event, EventTarget, AbortSignal, AbortController,
    atob: function atob(text) { return decode(new Uint8Array(encode(String(text), "base64")), "latin1"); },
    btoa: function btoa(text) {
      if (/[^\x00-\xff]/.test(text)) throw failure("InvalidCharacterError", "Invalid character");
      return decode(new Uint8Array(encode(String(text), "latin1")), "base64");
    },
    fetch: function fetch() { throw new Error("fetch is not available in shardsh"); },
  };
});
