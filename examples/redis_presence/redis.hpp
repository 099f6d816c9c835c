// SPDX-License-Identifier: MIT
// A connection to Redis that pipelines: commands are queued, and their answers are read together. One call of exist()
// or set() is one round trip, however many keys it names.
#pragma once

#include <hiredis/hiredis.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace presence {

class Redis {
public:
    Redis(const std::string& host, int port) : context_{redisConnectWithTimeout(host.c_str(), port, {5, 0})} {
        if (context_ == nullptr || context_->err != 0) {
            const std::string why = context_ == nullptr ? "out of memory" : context_->errstr;
            throw std::runtime_error(host + ':' + std::to_string(port) + ": no Redis answers there (" + why + ')');
        }
        redisSetTimeout(context_.get(), {5, 0});
    }

    /// Which of these keys are there, in their order.
    std::vector<bool> exist(const std::vector<std::string>& keys) {
        for (const std::string& key : keys) {
            redisAppendCommand(context_.get(), "EXISTS %b", key.data(), key.size());
        }
        std::vector<bool> found;
        for (const Reply& reply : answers(keys.size())) {
            if (reply->type != REDIS_REPLY_INTEGER) {
                throw std::runtime_error("EXISTS was not answered with a number");
            }
            found.push_back(reply->integer == 1);
        }
        return found;
    }

    void set(const std::vector<std::pair<std::string, std::string>>& objects) {
        for (const auto& [key, bytes] : objects) {
            redisAppendCommand(context_.get(), "SET %b %b", key.data(), key.size(), bytes.data(), bytes.size());
        }
        answers(objects.size());
    }

    /// One setting of the server, empty when it has none of that name.
    std::string setting(const std::string& name) {
        redisAppendCommand(context_.get(), "CONFIG GET %b", name.data(), name.size());
        const std::vector<Reply> reply = answers(1);
        return reply[0]->elements == 2 ? std::string{reply[0]->element[1]->str, reply[0]->element[1]->len} : "";
    }

    unsigned long long round_trips() const noexcept { return round_trips_; }

private:
    struct Free {
        void operator()(redisContext* context) const noexcept { redisFree(context); }
        void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
    };
    using Reply = std::unique_ptr<redisReply, Free>;

    /// Sends what is queued and waits for all answers; an error among them is thrown once they are read.
    std::vector<Reply> answers(std::size_t count) {
        std::vector<Reply> replies;
        std::string wrong;
        for (std::size_t i = 0; i < count; ++i) {
            void* reply = nullptr;
            if (redisGetReply(context_.get(), &reply) != REDIS_OK) {
                throw std::runtime_error(std::string{"Redis does not answer: "} + context_->errstr);
            }
            replies.emplace_back(static_cast<redisReply*>(reply));
            if (replies.back()->type == REDIS_REPLY_ERROR) {
                wrong = std::string{replies.back()->str, replies.back()->len};
            }
        }
        if (!wrong.empty()) {
            throw std::runtime_error("Redis refuses: " + wrong);
        }
        round_trips_ += count == 0 ? 0 : 1;
        return replies;
    }

    std::unique_ptr<redisContext, Free> context_;
    unsigned long long round_trips_ = 0;
};

}  // namespace presence
