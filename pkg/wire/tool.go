package wire

import (
	"bytes"
	"errors"
	"slices"
)

// outside notes what the item at i points at. Keys are looked for at any depth except below
// `tools`, whose schemas may name a parameter whatever they like.
func (p *parser) outside(i int, kind string) {
	if kind == "item_reference" {
		p.point(kind)
	}
	skip := p.get(i, "tools")
	for c := i + 1; c < int(p.cells[i].next); c++ {
		if c == skip {
			c = int(p.cells[c].next) - 1
			continue
		}
		if !p.isString(c) || !p.isKey(c) {
			continue
		}
		if p.cells[c+1].kind != 'n' && p.pointsAway(c) {
			p.point(p.text(c))
		}
	}
}

// pointsAway reports whether the member with its key at c stands for bytes that are elsewhere.
func (p *parser) pointsAway(c int) bool {
	switch string(p.bytes(c)) {
	case "file_id", "file_ids", "file_url", "vector_store_ids", "container_id":
		return true
	case "image_url":
		return !p.isString(c+1) || !bytes.HasPrefix(p.bytes(c+1), []byte("data:"))
	}
	return false
}

// isKey reports whether the string at c is a key: only then does a colon follow.
func (p *parser) isKey(c int) bool {
	for _, b := range p.src[p.cells[c].end:] {
		switch b {
		case ' ', '\t', '\n', '\r':
			continue
		}
		return b == ':'
	}
	return false
}

func (p *parser) point(what string) {
	if !slices.Contains(p.req.Outside, what) {
		p.req.Outside = append(p.req.Outside, what)
	}
}

// tools collects the tools of the object at i, which stands in the namespaces around.
func (p *parser) tools(i int, around []int) error {
	v := p.get(i, "tools")
	if v < 0 {
		return nil
	}
	if p.cells[v].kind != '[' {
		return errors.New(`"tools" is not a list`)
	}
	for e := range p.elements(v) {
		if p.cells[e].kind != '{' {
			return errors.New("a tool is not an object")
		}
		if err := p.spelling(e, "type", "name", "tools"); err != nil {
			return err
		}
		inside := append(slices.Clip(around), e)
		inner := p.get(e, "tools")
		switch {
		case p.str(e, "type") != "namespace":
			p.leaf(e, around)
		case inner < 0 || int(p.cells[inner].next) == inner+1:
			p.req.offers = append(p.req.offers, offer{inside, -1})
		}
		// Whatever its type says, a tool that holds tools is opened: none may hide.
		if err := p.tools(e, inside); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) leaf(i int, around []int) {
	tool := Tool{Type: p.str(i, "type"), Name: p.str(i, "name"), Raw: p.raw(i)}
	for _, a := range around {
		tool.Namespace = append(tool.Namespace, p.str(a, "name"))
	}
	p.req.Tools = append(p.req.Tools, tool)
	p.req.offers = append(p.req.offers, offer{around, i})
}

// offer is one tool, or a namespace without any: then tool is -1.
type offer struct {
	around []int
	tool   int
}

// offerLine appends the line that ToolsSHA documents, without its newline.
func (d *document) offerLine(dst []byte, o offer) []byte {
	dst = append(dst, `{"namespace":[`...)
	for n, a := range o.around {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = d.canonical(dst, a, "tools")
	}
	dst = append(dst, `],"tool":`...)
	if o.tool < 0 {
		return append(dst, "null}"...)
	}
	return append(d.canonical(dst, o.tool, ""), '}')
}

// offerLines returns the lines of all offers.
func (r *Request) offerLines() [][]byte {
	out := make([][]byte, 0, len(r.offers))
	for _, o := range r.offers {
		out = append(out, r.doc.offerLine(nil, o))
	}
	return out
}

// sameOffers reports whether two requests offer tools in the same bytes, which spares the
// canonical forms in the usual case.
func sameOffers(a, b *Request) bool {
	return slices.EqualFunc(a.toolLists(), b.toolLists(), bytes.Equal)
}

// toolLists returns every `tools` field as written.
func (r *Request) toolLists() [][]byte {
	var out [][]byte
	for _, i := range append([]int{0}, r.items...) {
		if v := r.doc.get(i, "tools"); v >= 0 {
			out = append(out, r.doc.raw(v))
		}
	}
	return out
}
