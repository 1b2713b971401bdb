// A store that tells when the append that takes a task's input has committed: the first event after a post.
import type { Store } from "../src/store/store.ts";

export const tellingInput = (store: Store, told: () => void): Store => ({
  ...store,
  append: async (params) => {
    const receipt = await store.append(params);
    if (params.taken !== undefined) told();
    return receipt;
  },
});
