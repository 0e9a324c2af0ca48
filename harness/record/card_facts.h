/* card_facts: what rows say of the card that a rank ran on, and whether it is another by now:
 * a different device, capacity, reserve, ECC, MIG or driver, or another use of it before the
 * run by others. Runs before and after that are not to be compared.
 */
#ifndef HIGHWATER_RECORD_CARD_FACTS_H
#define HIGHWATER_RECORD_CARD_FACTS_H

#include "harness/record/row.h"

struct card_facts {
    struct row known; /* of each fact the newest */
};
/* Takes over what a closing row says. True: the card is another, and what is different is
 * appended: "ecc off is now on, …". What one of the two does not know is no change. */
bool card_facts_take(struct card_facts *facts, const struct row *closing,
                     struct text *difference);
void card_facts_release(struct card_facts *facts);

#endif
