// Package heap stands in for that of KWOK v0.8.0, see Program.replaced in tests/controlplane/programs.py.
//
// There, an item that is pushed a second time is in the heap twice and in the index once. The one that is
// not in the index can never be removed, and once it is first nothing behind it ever comes: no lease is
// renewed any more, and no call that failed is tried again. It happens when a node is deleted and made again
// while its renewal is due, as after a pause of ten seconds. Here an item has one place.
package heap

import (
	"cmp"
	"container/heap"
)

// Heap holds each item once and gives the one with the lowest key first.
type Heap[K cmp.Ordered, T comparable] struct {
	order order[K, T]
}

type place[K cmp.Ordered, T comparable] struct {
	key  K
	item T
}

type order[K cmp.Ordered, T comparable] struct {
	places []place[K, T]
	at     map[T]int
}

// NewHeap returns an empty heap.
func NewHeap[K cmp.Ordered, T comparable]() *Heap[K, T] {
	return &Heap[K, T]{order: order[K, T]{at: map[T]int{}}}
}

// Push puts an item where its key belongs; one that is there already moves.
func (h *Heap[K, T]) Push(key K, item T) {
	if at, known := h.order.at[item]; known {
		h.order.places[at].key = key
		heap.Fix(&h.order, at)
		return
	}
	heap.Push(&h.order, place[K, T]{key, item})
}

// Pop takes the first item out.
func (h *Heap[K, T]) Pop() (key K, item T, found bool) {
	key, item, found = h.Peek()
	if found {
		h.Remove(item)
	}
	return key, item, found
}

// Peek returns the first item.
func (h *Heap[K, T]) Peek() (key K, item T, found bool) {
	if h.Len() == 0 {
		return key, item, false
	}
	first := h.order.places[0]
	return first.key, first.item, true
}

// Remove takes an item out and tells whether it was there.
func (h *Heap[K, T]) Remove(item T) bool {
	at, known := h.order.at[item]
	if known {
		heap.Remove(&h.order, at)
	}
	return known
}

// Len returns the number of items.
func (h *Heap[K, T]) Len() int {
	return h.order.Len()
}

func (o *order[K, T]) Len() int {
	return len(o.places)
}

func (o *order[K, T]) Less(i, j int) bool {
	return cmp.Less(o.places[i].key, o.places[j].key)
}

func (o *order[K, T]) Swap(i, j int) {
	o.places[i], o.places[j] = o.places[j], o.places[i]
	o.at[o.places[i].item], o.at[o.places[j].item] = i, j
}

// Push is called by container/heap.
func (o *order[K, T]) Push(last any) {
	added := last.(place[K, T])
	o.at[added.item] = len(o.places)
	o.places = append(o.places, added)
}

// Pop is called by container/heap.
func (o *order[K, T]) Pop() any {
	end := len(o.places) - 1
	last := o.places[end]
	o.places = o.places[:end]
	delete(o.at, last.item)
	return last
}
