// A part of the page that is brought up to date in steps, each short, so that no frame is long.
export class Part {
  constructor() {
    this.changed = new Set();
    this.going = null;
  }

  // What has changed since; it waits for its turn.
  add(names) {
    for (const name of names) this.changed.add(name);
  }

  // One more step of `work`; false: nothing is left to do.
  step(model) {
    if (!this.going) this.going = this.work(model);
    if (this.going.next().done) this.going = null;
    return this.going !== null || this.changed.size > 0;
  }

  // The names that have changed, also those that are added meanwhile, each once.
  * taken() {
    for (const name of this.changed) {
      this.changed.delete(name);
      yield name;
    }
  }

  forget() {
    this.changed.clear();
    this.going = null;
  }
}
