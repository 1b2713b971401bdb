// Other people around a simulated task, and several front ends of its owner: each with a client of its own, whose calls of
// the store come in between those of everybody else.
import { ClientError, type Client } from "../../client/client.ts";
import { post } from "../../client/post.ts";
import { openAccess } from "../../access/local/local.ts";
import type { NewItem } from "../../core/items.ts";
import { macUnder, nodeHasher } from "../../store/node-hasher.ts";
import { StoreError } from "../../store/store.ts";
import { storeFor } from "./actor-ports.ts";
import type { PeopleDeed } from "./people-plan.ts";
import { OWNER, PLACE, type SimulatedSystem } from "./system.ts";

export const FRIEND = "person:bob";

/** How often somebody looks whether the task is at work. */
const LOOKS = 20;

/** What of a post became: its inbox seq where it was accepted, and whether that was an earlier one's. */
type Sent = { readonly seq: number; readonly duplicate: boolean } | null;

export class Around {
  readonly faults: string[] = [];
  /** How often each thing was met. */
  readonly met = new Map<string, number>();
  readonly #system: SimulatedSystem;
  readonly #taskId: string;
  readonly #accepted: (seq: number) => void;
  /** Where the task was moved to last, as far as a front end was told. */
  #place = PLACE;
  #moves = 0;

  constructor(system: SimulatedSystem, taskId: string, accepted: (seq: number) => void) {
    this.#system = system;
    this.#taskId = taskId;
    this.#accepted = accepted;
  }

  #count(name: string): void {
    this.met.set(name, (this.met.get(name) ?? 0) + 1);
  }

  #client(principal: string, place: string): Client {
    const { scheduler, person, store, chance } = this.#system;
    return {
      ...{ store: storeFor(scheduler, person, store), access: openAccess, hasher: nodeHasher, mac: macUnder },
      random: { id: () => chance.id(), salt: () => chance.bytes(16), secret: () => chance.bytes(32) },
      ...{ principal, frontEnd: "simulation", place },
    };
  }

  /** Posts as a front end does. Null where it was told no. */
  async #send(client: Client, item: NewItem, key: string): Promise<Sent> {
    try {
      const receipt = await post(client, { taskId: this.#taskId, item, key });
      this.#accepted(receipt.seq);
      return receipt;
    } catch (error) {
      if (error instanceof ClientError) return null;
      if (error instanceof StoreError && ["not_found", "ended", "conflict"].includes(error.code)) return null;
      throw error;
    }
  }

  /** Where the task lives now. */
  async #home(): Promise<string> {
    const row = await this.#system.store.getTask({ taskId: this.#taskId });
    this.#place = row?.origin.place ?? this.#place;
    return this.#place;
  }

  async #move(key: string, twice: boolean): Promise<void> {
    const place = await this.#home();
    const to = (front: string): NewItem => {
      this.#moves += 1;
      const origin = { frontEnd: front, place: `place ${String(this.#moves)}`, conversation: front, private: true };
      return { type: "Handoff", origin };
    };
    const fronts = twice ? ["here", "there"] : ["here"];
    const sent = await Promise.all(
      fronts.map((front) => this.#send(this.#client(OWNER, place), to(front), `${key} ${front}`)),
    );
    const accepted = sent.filter((each) => each !== null);
    this.#count(twice ? "two moves at once" : "move");
    if (accepted.length > 1) this.faults.push(`both of two moves from ${place} were accepted`);
  }

  async #sayFromBehind(key: string, text: string): Promise<void> {
    if ((await this.#home()) === PLACE) return;
    const sent = await this.#send(this.#client(OWNER, PLACE), { type: "Say", text }, key);
    this.#count("say from behind");
    if (sent !== null) this.faults.push(`a post from ${PLACE} was accepted after the task had moved`);
  }

  /** Lets the turn begin, if it does soon. */
  async #untilAtWork({ store }: Client): Promise<void> {
    for (let looks = 0; looks < LOOKS; looks += 1) {
      if ((await store.getTask({ taskId: this.#taskId }))?.status === "running") return;
    }
  }

  async do(deed: PeopleDeed, key: string): Promise<void> {
    const owner = this.#client(OWNER, await this.#home());
    const name = (change: "add" | "remove"): NewItem => ({ type: "Collaborate", principal: FRIEND, change });
    switch (deed.kind) {
      case "name":
        await this.#send(owner, name(deed.change), key);
        return;
      case "friend steers": {
        const friend = this.#client(FRIEND, this.#place);
        await this.#send(owner, { type: "Say", text: `go on, ${key}` }, `${key} says`);
        await this.#untilAtWork(friend);
        const steers = this.#send(friend, { type: "Steer", text: deed.text }, key);
        const dismissed = deed.dismissed ? this.#send(owner, name("remove"), `${key} dismissed`) : null;
        const [sent] = await Promise.all([steers, dismissed]);
        this.#count(sent === null ? "friend is refused" : "friend steers");
        if (sent !== null && deed.dismissed) this.#count("friend steers while dismissed");
        return;
      }
      case "friend meddles": {
        const body = deed.verb === "Say" ? { type: deed.verb, text: `meddle ${key}` } : { type: deed.verb };
        await this.#system.meddle(this.#taskId, FRIEND, body, key).then(this.#accepted, () => undefined);
        this.#count("friend meddles");
        return;
      }
      case "move":
        return this.#move(key, deed.twice);
      case "say from behind":
        return this.#sayFromBehind(key, deed.text);
    }
  }
}
