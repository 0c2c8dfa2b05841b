package wire

import (
	"bytes"
	"slices"
)

// Diff names what is different in next beside prev, the request before it: "model",
// "instructions", "tools", "tools_order" (the same tools in another order), "schema", "effort",
// "sandbox", "cwd", "prefix" (the items of prev are not the first items of next: history was
// rewritten or compacted), other fields of the interface by their name, and "other" for fields it
// does not know. Nil when next only goes on. Ids that Codex makes anew for each turn, in
// `client_metadata`, do not count.
func Diff(prev, next *Request) []string {
	var out []string
	note := func(what string, changed bool) {
		if changed {
			out = append(out, what)
		}
	}
	note("model", prev.Model != next.Model)
	note("instructions", prev.Instructions != next.Instructions)
	note(toolsDiff(prev, next))
	note("schema", !sameJSON(prev.Schema, next.Schema))
	note("effort", prev.Effort != next.Effort)
	note("sandbox", prev.Sandbox != next.Sandbox)
	note("cwd", prev.CWD != next.CWD)
	note("prefix", !isPrefix(prev.Items, next.Items))
	return append(out, fieldsDiff(prev, next)...)
}

func toolsDiff(prev, next *Request) (string, bool) {
	if sameOffers(prev, next) {
		return "", false
	}
	a, b := prev.offerLines(), next.offerLines()
	if slices.EqualFunc(a, b, bytes.Equal) {
		return "", false
	}
	slices.SortFunc(a, bytes.Compare)
	slices.SortFunc(b, bytes.Compare)
	if slices.EqualFunc(a, b, bytes.Equal) {
		return "tools_order", true
	}
	return "tools", true
}

func isPrefix(prev, next []Item) bool {
	n := 0
	for _, item := range prev {
		if bringsTools(item) {
			continue
		}
		for n < len(next) && bringsTools(next[n]) {
			n++
		}
		if n == len(next) || !sameJSON(item.Raw, next[n].Raw) {
			return false
		}
		n++
	}
	return true
}

// bringsTools reports whether a change in the item is called "tools".
func bringsTools(i Item) bool { return i.Type == "additional_tools" }

func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	ca, errA := Canonical(a)
	cb, errB := Canonical(b)
	return errA == nil && errB == nil && bytes.Equal(ca, cb)
}

// fieldsDiff compares the fields at the top that have no word of their own.
func fieldsDiff(prev, next *Request) []string {
	known := []string{"include", "max_output_tokens", "metadata", "parallel_tool_calls", "prompt",
		"prompt_cache_key", "reasoning", "service_tier", "store", "stream", "temperature", "text",
		"tool_choice", "top_p", "truncation"}
	told := []string{"model", "instructions", "tools", "input", "client_metadata"}
	a, b := prev.fields(), next.fields()
	// What these two hold is compared above, so only the rest of them counts here.
	if prev.Effort != next.Effort {
		told = append(told, "reasoning")
	}
	if !sameJSON(prev.Schema, next.Schema) {
		told = append(told, "text")
	}
	var out []string
	other := false
	for _, name := range sortedKeys(a, b) {
		switch {
		case slices.Contains(told, name) || sameJSON(a[name], b[name]):
		case slices.Contains(known, name):
			out = append(out, name)
		default:
			other = true
		}
	}
	if other {
		out = append(out, "other")
	}
	return out
}

// fields returns the members at the top of the body as written.
func (r *Request) fields() map[string][]byte {
	out := make(map[string][]byte, 16)
	for k := range r.doc.keys(0) {
		out[r.doc.text(k)] = r.doc.raw(k + 1)
	}
	return out
}

func sortedKeys(a, b map[string][]byte) []string {
	var out []string
	for name := range a {
		out = append(out, name)
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
